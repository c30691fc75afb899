// Checks of knex, drizzle and Sequelize against the server that PGHOST and PGPORT name. They pass against PostgreSQL 15, too.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { check, equal as same, fails, main } from "../checks_of_node.mjs";

const require = createRequire(`${process.env.NODE_MODULES}/package.json`);
const pg = require("pg");
const knexOf = require("knex");
const { drizzle } = require("drizzle-orm/node-postgres");
const { migrate } = require("drizzle-orm/node-postgres/migrator");
const pgCore = require("drizzle-orm/pg-core");
const { and, count, desc, eq, gt, ilike, inArray, relations, sql, sum } = require("drizzle-orm");
const { DataTypes, Op, QueryTypes, Sequelize, UniqueConstraintError } = require("sequelize");

const here = dirname(fileURLToPath(import.meta.url));
/** Of objects that libraries make, what JSON says of them. */
const equal = (have, want) => same(JSON.parse(JSON.stringify(have ?? null)), want);

async function withKnex(run) {
    const knex = knexOf({ client: "pg", connection: { host: process.env.PGHOST, port: +process.env.PGPORT, user: process.env.PGUSER, database: process.env.PGDATABASE } });
    try {
        return await run(knex);
    } finally {
        await knex.destroy();
    }
}

const steps = {
    first: {
        up: (knex) =>
            knex.schema
                .createTable("kx_users", (table) => {
                    table.increments("id");
                    table.string("email", 120).notNullable().unique();
                    table.enu("kind", ["admin", "guest"]).defaultTo("guest");
                    table.jsonb("data").defaultTo("{}");
                    table.timestamps(true, true);
                })
                .createTable("kx_orders", (table) => {
                    table.bigIncrements("id");
                    table.integer("user_id").unsigned().notNullable().references("id").inTable("kx_users").onDelete("CASCADE").index();
                    table.decimal("total", 10, 2).notNullable().defaultTo(0);
                    table.uuid("key").defaultTo(knex.raw("gen_random_uuid()"));
                    table.specificType("tags", "text[]");
                    table.check("?? >= 0", ["total"], "kx_total");
                    table.comment("what was bought");
                }),
        down: (knex) => knex.schema.dropTable("kx_orders").dropTable("kx_users"),
    },
    second: {
        up: async (knex) => {
            await knex.schema.alterTable("kx_users", (table) => {
                table.boolean("active").notNullable().defaultTo(true);
                table.renameColumn("email", "mail");
            });
            await knex.schema.alterTable("kx_users", (table) => table.string("mail", 200).notNullable().alter());
            await knex("kx_users").insert({ mail: "from@migration" });
            await knex.schema.alterTable("kx_orders", (table) => table.dropColumn("tags"));
        },
        down: async (knex) => {
            await knex.schema.alterTable("kx_users", (table) => {
                table.dropColumn("active");
                table.renameColumn("mail", "email");
            });
            await knex.schema.alterTable("kx_orders", (table) => table.specificType("tags", "text[]"));
        },
    },
};

const source = (more = {}) => {
    const known = { ...steps, ...more };
    return {
        getMigrations: async () => Object.keys(known),
        getMigrationName: (name) => name,
        getMigration: async (name) => known[name],
    };
};

check("knex_migrations", "knex: migrate latest, one that fails half-way, rollback, up again", () =>
    withKnex(async (knex) => {
        const [batch, done] = await knex.migrate.latest({ migrationSource: source() });
        equal([batch, done], [1, ["first", "second"]]);
        equal((await knex.migrate.latest({ migrationSource: source() }))[1], []);
        const third = { up: async (trx) => { await trx.schema.createTable("kx_half", (table) => table.increments()); await trx.raw("SELECT 1/0"); }, down: async () => {} };
        await fails("22012", () => knex.migrate.latest({ migrationSource: source({ third }) }));
        equal(await knex.schema.hasTable("kx_half"), false);
        equal(await knex.schema.hasColumn("kx_users", "mail"), true);
        equal((await knex.migrate.list({ migrationSource: source() }))[1], []);
        equal((await knex.migrate.rollback({ migrationSource: source() }, true))[1], ["second", "first"]);
        equal(await knex.schema.hasTable("kx_users"), false);
        equal((await knex.migrate.latest({ migrationSource: source() }))[1], ["first", "second"]);
    }));

check("knex_queries", "knex: insert returning, joins, subqueries, conflicts, transactions, aggregates, column info", () =>
    withKnex(async (knex) => {
        await knex("kx_users").del();
        const users = await knex("kx_users").insert([{ mail: "a" }, { mail: "b", kind: "admin", data: { n: 1 } }]).returning(["id", "mail"]);
        equal(users.map((user) => user.mail), ["a", "b"]);
        const [{ id }] = users;
        await knex("kx_orders").insert([1, 2, 3].map((total) => ({ user_id: id, total })));
        equal(await knex("kx_orders as o").join("kx_users as u", "u.id", "o.user_id").where("o.total", ">", 1).orderBy("o.total").select("u.mail", "o.total"), [
            { mail: "a", total: "2.00" }, { mail: "a", total: "3.00" }]);
        equal(await knex("kx_users").whereNotExists(knex("kx_orders").whereRaw("kx_orders.user_id = kx_users.id")).pluck("mail"), ["b"]);
        equal(await knex("kx_orders").sum("total").first(), { sum: "6.00" });
        equal(await knex("kx_orders").groupBy("user_id").havingRaw("count(*) > 2").count("* as n").select("user_id"), [{ n: "3", user_id: id }]);
        await knex("kx_users").insert({ mail: "a", kind: "admin" }).onConflict("mail").merge();
        equal(await knex("kx_users").where({ mail: "a" }).first("kind"), { kind: "admin" });
        await knex("kx_users").insert({ mail: "b" }).onConflict("mail").ignore();
        equal(await knex("kx_users").whereJsonPath("data", "$.n", "=", 1).pluck("mail"), ["b"]);
        equal(await knex("kx_orders").where({ user_id: id }).increment("total", 5), 3);
        await fails("23514", () => knex("kx_orders").update({ total: -1 }));
        await fails("23505", () => knex("kx_users").insert({ mail: "a" }));
        await assert.rejects(() => knex.transaction(async (trx) => {
            await trx("kx_users").where({ id }).forUpdate().first();
            await trx("kx_users").where({ id }).del();
            throw new Error("no");
        }));
        const left = await knex.transaction(async (trx) => {
            await trx("kx_orders").where("total", 6).del();
            await trx.transaction((inner) => inner("kx_orders").del().then(() => inner.rollback(new Error("inner")))).catch(() => {});
            return trx("kx_orders").count("* as n").first();
        });
        equal(left, { n: "2" });
        const info = await knex("kx_users").columnInfo();
        equal([info.mail.type, info.mail.maxLength, info.mail.nullable, info.id.type], ["character varying", 200, false, "integer"]);
        equal(await knex.with("top", knex("kx_orders").max("total as most")).select("*").from("top"), [{ most: "8.00" }]);
        equal((await knex("kx_users").where("mail", "like", "%").modify((query) => query.orderBy("mail", "desc", "last")).limit(1).offset(1)).length, 1);
    }));

const { integer, jsonb, numeric, pgEnum, pgTable, serial, text, timestamp, uuid, varchar } = pgCore;
const mood = pgEnum("mood", ["sad", "ok", "happy"]);
const users = pgTable("dz_users", {
    id: serial("id").primaryKey(), name: varchar("name", { length: 80 }).notNull().unique(), mood: mood("mood").notNull().default("ok"),
    createdAt: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(), settings: jsonb("settings").default({}), key: uuid("key").notNull().defaultRandom(),
    age: integer("age").notNull().default(18),
});
const posts = pgTable("dz_posts", {
    id: integer("id").primaryKey().generatedAlwaysAsIdentity(), userId: integer("user_id").notNull().references(() => users.id, { onDelete: "cascade" }),
    title: varchar("title", { length: 200 }).notNull(), words: text("words").array().notNull().default([]), cost: numeric("cost", { precision: 10, scale: 2 }),
});
const schema = {
    users, posts, usersRelations: relations(users, ({ many }) => ({ posts: many(posts) })),
    postsRelations: relations(posts, ({ one }) => ({ user: one(users, { fields: [posts.userId], references: [users.id] }) })),
};

async function withDrizzle(run) {
    const pool = new pg.Pool();
    try {
        return await run(drizzle(pool, { schema }), pool);
    } finally {
        await pool.end();
    }
}

check("drizzle_migrations", "drizzle: its migrator, twice, with a schema of its own for what it notes", () =>
    withDrizzle(async (db, pool) => {
        for (const _ of [1, 2]) await migrate(db, { migrationsFolder: join(here, "drizzle") });
        equal((await pool.query("SELECT count(*)::int AS n FROM drizzle.__drizzle_migrations")).rows, [{ n: 2 }]);
    }));

check("drizzle_queries", "drizzle: insert returning, relations (LATERAL), joins, conflicts, transactions, prepared", () =>
    withDrizzle(async (db) => {
        await db.delete(users);
        const made = await db.insert(users).values([{ name: "Ada", mood: "happy" }, { name: "Bo", settings: { dark: true } }, { name: "Cy", age: 40 }]).returning({ id: users.id, age: users.age });
        equal(made.map((user) => user.age), [18, 18, 40]);
        await db.insert(posts).values(["one", "two", "three"].map((title, at) => ({ userId: made[at % 2].id, title, words: [title, "x"], cost: `${at}.5` })));
        const found = await db.query.users.findMany({ with: { posts: { orderBy: posts.id, columns: { title: true, words: true } } }, columns: { name: true }, orderBy: users.name });
        equal(found, [
            { name: "Ada", posts: [{ title: "one", words: ["one", "x"] }, { title: "three", words: ["three", "x"] }] },
            { name: "Bo", posts: [{ title: "two", words: ["two", "x"] }] }, { name: "Cy", posts: [] }]);
        const first = await db.query.posts.findFirst({ with: { user: true }, where: eq(posts.title, "two") });
        equal([first.user.name, first.user.settings, first.cost], ["Bo", { dark: true }, "1.50"]);
        equal(await db.select({ name: users.name, n: count(posts.id), sum: sum(posts.cost) }).from(users).leftJoin(posts, eq(posts.userId, users.id)).groupBy(users.id).orderBy(desc(count(posts.id)), users.name), [
            { name: "Ada", n: 2, sum: "3.00" }, { name: "Bo", n: 1, sum: "1.50" }, { name: "Cy", n: 0, sum: null }]);
        equal(await db.select({ name: users.name }).from(users).where(and(ilike(users.name, "a%"), gt(users.age, 10), inArray(users.mood, ["happy", "sad"]))), [{ name: "Ada" }]);
        await db.insert(users).values({ name: "Ada", age: 99 }).onConflictDoUpdate({ target: users.name, set: { age: sql`excluded.age + 1` } });
        await db.insert(users).values({ name: "Ada" }).onConflictDoNothing();
        equal(await db.select({ age: users.age }).from(users).where(eq(users.name, "Ada")), [{ age: 100 }]);
        const byName = db.select().from(users).where(eq(users.name, sql.placeholder("name"))).prepare("by_name");
        equal((await byName.execute({ name: "Cy" })).length, 1);
        await assert.rejects(() => db.transaction(async (tx) => {
            await tx.update(users).set({ age: 1 });
            await tx.transaction(async (inner) => { await inner.delete(posts); inner.rollback(); }).catch(() => {});
            equal((await tx.select().from(posts)).length, 3);
            tx.rollback();
        }));
        equal((await db.select().from(users).where(eq(users.age, 1))).length, 0);
        await fails("23505", () => db.insert(users).values({ name: "Bo" }));
        await db.delete(users).where(eq(users.name, "Ada"));
        equal(await db.$count(posts), 1);
        const recent = db.$with("recent").as(db.select().from(users).where(gt(users.createdAt, new Date(0))));
        equal((await db.with(recent).select().from(recent)).length, 2);
    }));

check("sequelize", "Sequelize: sync, alter, associations, eager loading, bulk upserts, transactions, errors", async () => {
    const db = new Sequelize(process.env.PGDATABASE, process.env.PGUSER, "", { host: process.env.PGHOST, port: +process.env.PGPORT, dialect: "postgres", logging: false, dialectModule: pg });
    try {
        await db.authenticate();
        const Author = db.define("sq_author", { name: { type: DataTypes.STRING(40), unique: true }, kind: DataTypes.ENUM("new", "old"), tags: DataTypes.ARRAY(DataTypes.TEXT), data: DataTypes.JSONB });
        const Book = db.define("sq_book", { title: { type: DataTypes.TEXT, allowNull: false }, price: DataTypes.DECIMAL(8, 2), out: DataTypes.DATEONLY });
        const Shelf = db.define("sq_shelf", { room: DataTypes.STRING });
        Author.hasMany(Book, { onDelete: "CASCADE" });
        Book.belongsTo(Author);
        Book.belongsToMany(Shelf, { through: "sq_places" });
        Shelf.belongsToMany(Book, { through: "sq_places" });
        await db.sync({ force: true });
        Book.rawAttributes.pages = { type: DataTypes.INTEGER, defaultValue: 7 };
        Book.refreshAttributes();
        await db.sync({ alter: true });
        const ada = await Author.create({ name: "Ada", kind: "old", tags: ["x", "y"], data: { a: [1] }, sq_books: [{ title: "one", price: 1.5, out: "2024-02-29" }, { title: "two" }] }, { include: [Book] });
        const again = await Author.findByPk(ada.id, { include: Book, order: [[Book, "title", "ASC"]] }); // both were made at once
        equal([again.tags, again.data, again.sq_books.map((book) => [book.title, book.pages, book.out])], [["x", "y"], { a: [1] }, [["one", 7, "2024-02-29"], ["two", 7, null]]]);
        const shelf = await Shelf.create({ room: "r" });
        await shelf.setSq_books(again.sq_books);
        equal((await Shelf.findOne({ include: Book })).sq_books.length, 2);
        await Author.bulkCreate([{ name: "Ada", kind: "new" }, { name: "Bo" }], { updateOnDuplicate: ["kind"], conflictAttributes: ["name"] });
        equal((await Author.findAll({ where: { [Op.or]: [{ kind: "new" }, { name: { [Op.iLike]: "b%" } }] }, order: ["name"] })).map((author) => author.name), ["Ada", "Bo"]);
        equal(await Author.count({ where: { tags: { [Op.contains]: ["x"] } } }), 1);
        equal(await Author.count({ where: { "data.a": { [Op.ne]: null } } }), 1);
        const { rows, count: n } = await Book.findAndCountAll({ limit: 1, order: [["title", "DESC"]], include: [{ model: Author, where: { name: "Ada" } }] });
        equal([rows.length, n, rows[0].sq_author.name], [1, 2, "Ada"]);
        equal(await Book.sum("price"), 1.5);
        await Book.increment("pages", { by: 3, where: { title: "one" } });
        equal(await Book.findAll({ attributes: ["pages", [db.fn("count", db.col("id")), "n"]], group: ["pages"], order: ["pages"], raw: true }), [{ pages: 7, n: "1" }, { pages: 10, n: "1" }]);
        await assert.rejects(() => Author.create({ name: "Ada" }), UniqueConstraintError);
        await assert.rejects(() => db.transaction(async (transaction) => { await Book.destroy({ where: {}, transaction }); throw new Error("no"); }));
        await db.transaction({ isolationLevel: "SERIALIZABLE" }, async (transaction) => {
            await Author.findOne({ where: { name: "Ada" }, lock: transaction.LOCK.UPDATE, transaction });
            await Author.update({ kind: "old" }, { where: { name: "Ada" }, transaction });
        });
        equal([await Book.count(), (await Author.findOne({ where: { name: "Ada" } })).kind], [2, "old"]);
        const [cy, isNew] = await Author.findOrCreate({ where: { name: "Cy" }, defaults: { kind: "new" } });
        equal([cy.kind, isNew], ["new", true]);
        equal(await db.query("SELECT name FROM sq_authors WHERE name = :name", { replacements: { name: "Cy" }, type: QueryTypes.SELECT }), [{ name: "Cy" }]);
        const described = await db.getQueryInterface().describeTable("sq_books");
        equal([described.title.allowNull, described.pages.type, described.id.primaryKey], [false, "INTEGER", true]);
        await ada.destroy();
        equal(await Book.count(), 0);
        await db.drop({});
    } finally {
        await db.close();
    }
});

await main("nodeorm", 60);
