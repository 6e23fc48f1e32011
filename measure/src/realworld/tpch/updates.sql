-- Thirty changes of the TPC-H database, each under a line with its name, and its parameters as JSON.

-- u01 {}
INSERT INTO region VALUES (5, 'ANTARCTICA', 'made by an update');
INSERT INTO nation VALUES (25, 'ROSS', 5, 'first'), (26, 'WILKES', 5, NULL);

-- u02 {"orders": 15}
INSERT INTO orders
SELECT o_orderkey + 60000, o_custkey, 'O', o_totalprice, o_orderdate + 1, o_orderpriority, o_clerk, o_shippriority, 'refresh'
FROM orders ORDER BY o_orderkey LIMIT $orders;
INSERT INTO lineitem
SELECT l_orderkey + 60000, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, 'N', 'O', l_shipdate + 1,
    l_commitdate, l_receiptdate + 1, l_shipinstruct, l_shipmode, 'refresh'
FROM lineitem WHERE l_orderkey IN (SELECT o_orderkey - 60000 FROM orders WHERE o_comment = 'refresh');

-- u03 {"from": 1, "to": 64}
DELETE FROM lineitem WHERE l_orderkey BETWEEN $from AND $to;
DELETE FROM orders WHERE o_orderkey BETWEEN $from AND $to;

-- u04 {"id": 42, "amount": 1234.56}
UPDATE customer SET c_acctbal = c_acctbal + $amount WHERE c_custkey = $id;

-- u05 {"rate": 1.05}
UPDATE part SET p_retailprice = p_retailprice * $rate WHERE p_size > 25;

-- u06 {}
UPDATE lineitem SET l_comment = upper(l_comment);

-- u07 {"segment": "BUILDING"}
UPDATE orders SET o_orderpriority = '1-URGENT'
FROM customer WHERE o_custkey = c_custkey AND c_mktsegment = $segment AND o_orderstatus = 'O';

-- u08 {}
DELETE FROM orders USING customer WHERE o_custkey = c_custkey AND c_acctbal < 0;

-- u09 {}
DELETE FROM partsupp;

-- u10 {"note": "'; DROP TABLE lineitem; --"}
UPDATE nation SET n_comment = $note WHERE n_nationkey = 7;

-- u11 {}
INSERT OR REPLACE INTO supplier VALUES (1, 'Supplier#000000001', 'moved', 3, '13-000-000-0000', 0.01, 'replaced'),
    (101, 'Supplier#000000101', 'new', 4, '14-000-000-0000', -1.00, 'new');

-- u12 {}
INSERT OR IGNORE INTO part SELECT p_partkey - 500, 'ignored', p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice, p_comment FROM part
WHERE p_partkey BETWEEN 400 AND 600;

-- u13 {}
INSERT INTO customer VALUES (1, 'Customer#000000001', 'x', 0, 'x', 7.00, 'BUILDING', 'x')
ON CONFLICT (c_custkey) DO UPDATE SET c_acctbal = c_acctbal + excluded.c_acctbal;

-- u14 {}
MERGE INTO supplier USING (SELECT key AS k, key * 1.5 AS v FROM range(90, 111) AS t(key)) AS new ON s_suppkey = k
WHEN MATCHED AND k % 2 = 0 THEN DELETE
WHEN MATCHED THEN UPDATE SET s_acctbal = v
WHEN NOT MATCHED THEN INSERT VALUES (k, 'merged', 'x', 1, 'x', v, 'x');

-- u15 {}
BEGIN;
UPDATE lineitem SET l_discount = 0 WHERE l_discount > 0.05;
UPDATE orders SET o_totalprice = (
    SELECT SUM(l_extendedprice * (1 + l_tax) * (1 - l_discount)) FROM lineitem WHERE l_orderkey = o_orderkey);
COMMIT;

-- u16 {}
BEGIN;
DELETE FROM lineitem;
ROLLBACK;
DELETE FROM region WHERE r_regionkey = 0;

-- u17 {"date": "1998-08-02"}
DELETE FROM lineitem WHERE l_shipdate > CAST($date AS DATE);

-- u18 {}
ALTER TABLE customer ADD COLUMN c_level VARCHAR DEFAULT 'none';
UPDATE customer SET c_level = CASE WHEN c_acctbal > 5000 THEN 'gold' ELSE 'grey' END;

-- u19 {}
ALTER TABLE orders DROP COLUMN o_comment;

-- u20 {}
CREATE TABLE archive AS SELECT * FROM orders WHERE o_orderdate < DATE '1993-01-01';
DELETE FROM orders WHERE o_orderdate < DATE '1993-01-01';

-- u21 {}
CREATE INDEX by_customer ON orders (o_custkey);
UPDATE orders SET o_clerk = 'Clerk#000000000' WHERE o_custkey = 1;

-- u22 {}
DROP TABLE partsupp;
CREATE VIEW expensive AS SELECT p_partkey, p_retailprice FROM part WHERE p_retailprice > 1500;

-- u23 {}
UPDATE supplier SET s_name = 'Lieferant ' || s_suppkey || ' — Größe ÷ 供應商 🙂', s_comment = repeat('x', 5000) WHERE s_suppkey <= 10;

-- u24 {}
UPDATE partsupp SET ps_availqty = ps_availqty - 1 WHERE ps_availqty > 0 AND ps_partkey % 7 = 0;

-- u25 {}
INSERT INTO lineitem SELECT * REPLACE (l_orderkey + 100000 AS l_orderkey) FROM lineitem;

-- u26 {}
UPDATE customer SET c_nationkey = n_nationkey FROM nation WHERE n_name = 'CANADA' AND c_custkey % 100 = 0;

-- u27 {"none": null}
UPDATE region SET r_comment = $none;
UPDATE nation SET n_comment = NULL WHERE n_regionkey = 2;

-- u28 {}
DELETE FROM customer WHERE NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey);

-- u29 {}
UPDATE lineitem SET l_quantity = l_quantity + 1 WHERE l_orderkey = 1 AND l_linenumber = 1;

-- u30 {"ok": true, "big": 9223372036854775807}
CREATE TABLE flags (flag BOOLEAN, big HUGEINT, made TIMESTAMP DEFAULT TIMESTAMP '2026-11-24 00:00:00', amounts DECIMAL(9, 2)[]);
INSERT INTO flags (flag, big, amounts) VALUES ($ok, $big, [1.50, NULL]), (NOT $ok, -1, NULL);
