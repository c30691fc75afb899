CREATE TYPE "public"."mood" AS ENUM('sad', 'ok', 'happy');--> statement-breakpoint
CREATE TABLE "dz_users" (
	"id" serial PRIMARY KEY NOT NULL,
	"name" varchar(80) NOT NULL,
	"mood" "mood" DEFAULT 'ok' NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"settings" jsonb DEFAULT '{}'::jsonb,
	"key" uuid DEFAULT gen_random_uuid() NOT NULL,
	CONSTRAINT "dz_users_name_unique" UNIQUE("name")
);
--> statement-breakpoint
CREATE TABLE "dz_posts" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "dz_posts_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"user_id" integer NOT NULL,
	"title" text NOT NULL,
	"words" text[] DEFAULT '{}' NOT NULL,
	"price" numeric(10, 2)
);
--> statement-breakpoint
ALTER TABLE "dz_posts" ADD CONSTRAINT "dz_posts_user_id_dz_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."dz_users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "dz_posts_title" ON "dz_posts" USING btree ("user_id","title");
