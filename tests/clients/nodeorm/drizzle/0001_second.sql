ALTER TABLE "dz_users" ADD COLUMN "age" integer DEFAULT 18 NOT NULL;--> statement-breakpoint
ALTER TABLE "dz_posts" ALTER COLUMN "title" SET DATA TYPE varchar(200);--> statement-breakpoint
ALTER TABLE "dz_posts" RENAME COLUMN "price" TO "cost";--> statement-breakpoint
CREATE UNIQUE INDEX "dz_posts_lower" ON "dz_posts" USING btree (lower("title"),"user_id");
