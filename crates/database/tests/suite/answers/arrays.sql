CREATE TABLE ar (id int PRIMARY KEY, tags text);
--> CREATE TABLE
INSERT INTO ar VALUES (1, 'p,q'), (2, 'r,s,t'), (3, NULL);
--> INSERT 0 3
SELECT id, CASE WHEN id < 2 THEN ARRAY['a','b'] WHEN id < 3 THEN string_to_array(tags, ',') ELSE '{z}' END FROM ar ORDER BY id;
--> SELECT 3 1|{a,b} 2|{r,s,t} 3|{z}
SELECT id, CASE id WHEN 1 THEN ARRAY['a'] END FROM ar ORDER BY id;
--> SELECT 3 1|{a} 2| 3|
SELECT id, CASE WHEN NULL THEN ARRAY['a'] ELSE NULL END FROM ar ORDER BY id;
--> SELECT 3 1| 2| 3|
SELECT COALESCE((SELECT array_agg(id ORDER BY id) FROM ar WHERE id > 5), '{7}');
--> SELECT 1 {7}
SELECT COALESCE((SELECT array_agg(id ORDER BY id) FROM ar), '{7}');
--> SELECT 1 {1,2,3}
SELECT x.r FROM (SELECT CASE WHEN g = 1 THEN (SELECT array_agg(a ORDER BY a) FROM generate_series(1,3) a) ELSE NULL END AS r FROM generate_series(1, 2) g) x WHERE x.r IS NOT NULL;
--> SELECT 1 {1,2,3}
SELECT 2 = ANY(CASE WHEN id = 2 THEN ARRAY[1,2] ELSE ARRAY[3] END) FROM ar ORDER BY id;
--> SELECT 3 f t f
