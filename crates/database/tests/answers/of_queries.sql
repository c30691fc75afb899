CREATE TABLE company (id int PRIMARY KEY);
--> CREATE TABLE
CREATE TABLE department (id int PRIMARY KEY, company int REFERENCES company ON DELETE CASCADE);
--> CREATE TABLE
-- Statements that a query feeds.
INSERT INTO company VALUES (1), (2), (3);
--> INSERT 0 3
INSERT INTO department VALUES (1, 1), (2, 2), (3, 3);
--> INSERT 0 3
DELETE FROM company USING department d WHERE d.company = company.id AND d.id <> 2 RETURNING company.id;
--> DELETE 2 1 3
SELECT id, company FROM department;
--> SELECT 1 2|2
