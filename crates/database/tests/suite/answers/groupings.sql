CREATE TABLE sale (id int PRIMARY KEY, shop text, item text, year int, n int, price numeric(8,2));
--> CREATE TABLE
INSERT INTO sale VALUES (1, 'x', 'pen', 2023, 3, 1.50), (2, 'x', 'ink', 2023, 1, 4.00), (3, 'y', 'pen', 2024, 5, 1.25), (4, NULL, 'pen', 2024, 2, 1.00), (5, 'y', NULL, 2024, 7, 2.00), (6, 'x', 'pen', 2024, NULL, 1.75);
--> INSERT 0 6
SELECT shop, item, sum(n), count(*) FROM sale GROUP BY GROUPING SETS ((shop, item), (shop), ()) ORDER BY shop, item, 3, 4;
--> SELECT 9 x|ink|1|1 x|pen|3|2 x||4|3 y|pen|5|1 y||7|1 y||12|2 |pen|2|1 ||2|1 ||18|6
SELECT shop, item, sum(n), grouping(shop, item) FROM sale GROUP BY ROLLUP (shop, item) ORDER BY 4, shop, item;
--> SELECT 9 x|ink|1|0 x|pen|3|0 y|pen|5|0 y||7|0 |pen|2|0 x||4|1 y||12|1 ||2|1 ||18|3
SELECT shop, year, sum(price), grouping(year), grouping(shop) FROM sale GROUP BY CUBE (shop, year) ORDER BY 4, 5, 1, 2;
--> SELECT 10 x|2023|5.50|0|0 x|2024|1.75|0|0 y|2024|3.25|0|0 |2024|1.00|0|0 |2023|5.50|0|1 |2024|6.00|0|1 x||7.25|1|0 y||3.25|1|0 ||1.00|1|0 ||11.50|1|1
SELECT year, shop, count(n) FROM sale GROUP BY year, ROLLUP (shop) ORDER BY year, shop, 3;
--> SELECT 6 2023|x|2 2023||2 2024|x|0 2024|y|2 2024||1 2024||3
SELECT year, shop, item, count(*) FROM sale GROUP BY ROLLUP (year, (shop, item)) ORDER BY 1, 2, 3, 4;
--> SELECT 9 2023|x|ink|1 2023|x|pen|1 2023|||2 2024|x|pen|1 2024|y|pen|1 2024|y||1 2024||pen|1 2024|||4 |||6
SELECT shop, item, year, count(*) FROM sale GROUP BY ROLLUP (shop), CUBE (item, year) HAVING count(*) > 2 ORDER BY 1, 2, 3, 4;
--> SELECT 5 x|||3 |pen|2024|3 |pen||4 ||2024|4 |||6
SELECT upper(shop), n % 2, count(*) FROM sale GROUP BY GROUPING SETS (upper(shop), n % 2) ORDER BY 1, 2, 3;
--> SELECT 6 X||3 Y||2 |0|1 |1|4 ||1 ||1
SELECT CASE WHEN grouping(shop) = 1 THEN 'all' ELSE coalesce(shop, 'none') END AS of, sum(n * price) FROM sale GROUP BY ROLLUP (shop) ORDER BY grouping(shop), 1;
--> SELECT 4 none|2.00 x|8.50 y|20.25 all|30.75
SELECT shop, count(DISTINCT item), min(price) FILTER (WHERE n > 2), string_agg(item, ',' ORDER BY id) FROM sale GROUP BY GROUPING SETS ((shop), ()) ORDER BY 1, 2, 4;
--> SELECT 4 x|2|1.50|pen,ink,pen y|1|1.25|pen |1||pen |2|1.25|pen,ink,pen,pen,pen
SELECT shop, sum(n), rank() OVER (PARTITION BY grouping(shop) ORDER BY sum(n)) FROM sale GROUP BY ROLLUP (shop) ORDER BY grouping(shop), 3, 1;
--> SELECT 4 |2|1 x|4|2 y|12|3 |18|1
SELECT count(*), sum(n) FROM sale GROUP BY ();
--> SELECT 1 6|18
SELECT count(*) FROM sale WHERE id > 100 GROUP BY ();
--> SELECT 1 0
SELECT shop, count(*) FROM sale WHERE id > 100 GROUP BY ROLLUP (shop);
--> SELECT 1 |0
SELECT shop, count(*) FROM sale WHERE id > 100 GROUP BY GROUPING SETS ((shop));
--> SELECT 0
SELECT shop, count(*) FROM sale GROUP BY GROUPING SETS ((shop), (shop)) ORDER BY 1, 2;
--> SELECT 6 x|3 x|3 y|2 y|2 |1 |1
SELECT shop AS s, item AS i, count(*) FROM sale GROUP BY GROUPING SETS ((1, 2), (i)) ORDER BY 1, 2, 3;
--> SELECT 8 x|ink|1 x|pen|2 y|pen|1 y||1 |ink|1 |pen|1 |pen|4 ||1
SELECT grouping(shop), count(*) FROM sale GROUP BY shop ORDER BY shop;
--> SELECT 3 0|3 0|2 0|1
SELECT s.shop, t.m FROM (SELECT shop, max(year) AS m FROM sale GROUP BY ROLLUP (shop)) t JOIN sale s ON s.shop = t.shop ORDER BY s.id;
--> SELECT 5 x|2024 x|2024 y|2024 y|2024 x|2024
SELECT shop, item FROM sale GROUP BY CUBE (shop, item) HAVING grouping(shop, item) = 2 ORDER BY 2;
--> SELECT 3 |ink |pen |
SELECT DISTINCT coalesce(shop, '-') FROM sale GROUP BY ROLLUP (shop, item) ORDER BY 1;
--> SELECT 3 - x y
SELECT (SELECT count(*) FROM sale u WHERE u.shop = sale.shop), sum(n) FROM sale GROUP BY ROLLUP (shop) ORDER BY 1, 2;
--> SELECT 4 0|2 0|18 2|12 3|4
-- Errors
SELECT item, count(*) FROM sale GROUP BY ROLLUP (shop);
--> 42803
SELECT grouping(item) FROM sale GROUP BY ROLLUP (shop);
--> 42803
SELECT id, shop FROM sale GROUP BY ROLLUP (id);
--> 42803
SELECT shop FROM sale WHERE grouping(shop) = 0 GROUP BY ROLLUP (shop);
--> 42803
SELECT count(*) FROM sale GROUP BY CUBE (id, id, id, id, id, id, id, id, id, id, id, id, id);
--> 54011
