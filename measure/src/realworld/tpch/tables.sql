-- The eight tables of TPC-H at scale factor 0.01, made by arithmetic on MD5: the same rows in every version of DuckDB. Ranges, keys and
-- rules between columns are those of the specification (chapter 4.2.3); texts are simpler.
CREATE TEMP MACRO draw(salt, key, n) AS CAST(md5_number_lower(concat(salt, '/', key)) % CAST(n AS UBIGINT) AS INTEGER);
CREATE TEMP MACRO text_of(salt, key, words) AS array_to_string([
    ['furiously', 'carefully', 'quickly', 'slyly', 'blithely', 'special', 'pending', 'regular', 'express', 'final', 'ironic', 'even', 'bold',
     'silent', 'unusual', 'requests', 'deposits', 'accounts', 'packages', 'theodolites', 'instructions', 'platelets', 'foxes', 'ideas',
     'sleep', 'wake', 'haggle', 'nag', 'cajole', 'boost', 'detect', 'integrate'][1 + draw(salt || word, key, 32)]
    FOR word IN range(words)], ' ');
CREATE TEMP MACRO phone_of(nation, key) AS printf('%d-%d-%d-%d', 10 + nation, 100 + draw('phone1', key, 900), 100 + draw('phone2', key, 900), 1000 + draw('phone3', key, 9000));
CREATE TEMP MACRO price_of(part) AS CAST((90000 + (part // 10) % 20001 + 100 * (part % 1000)) AS DECIMAL(12, 2)) / 100;
CREATE TEMP MACRO supplier_of(part, number) AS (part + number * (25 + (part - 1) // 100)) % 100 + 1;

CREATE TABLE region (r_regionkey INTEGER PRIMARY KEY, r_name VARCHAR NOT NULL, r_comment VARCHAR);
INSERT INTO region
SELECT key, ['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST'][key + 1], text_of('region', key, 6)
FROM range(5) AS all_keys(key);

CREATE TABLE nation (n_nationkey INTEGER PRIMARY KEY, n_name VARCHAR NOT NULL, n_regionkey INTEGER NOT NULL, n_comment VARCHAR);
INSERT INTO nation
SELECT key,
    ['ALGERIA', 'ARGENTINA', 'BRAZIL', 'CANADA', 'EGYPT', 'ETHIOPIA', 'FRANCE', 'GERMANY', 'INDIA', 'INDONESIA', 'IRAN', 'IRAQ', 'JAPAN',
     'JORDAN', 'KENYA', 'MOROCCO', 'MOZAMBIQUE', 'PERU', 'CHINA', 'ROMANIA', 'SAUDI ARABIA', 'VIETNAM', 'RUSSIA', 'UNITED KINGDOM',
     'UNITED STATES'][key + 1],
    [0, 1, 1, 1, 4, 0, 3, 3, 2, 2, 4, 4, 2, 4, 0, 0, 0, 1, 2, 3, 4, 2, 3, 3, 1][key + 1],
    text_of('nation', key, 6)
FROM range(25) AS all_keys(key);

CREATE TABLE supplier (
    s_suppkey INTEGER PRIMARY KEY, s_name VARCHAR NOT NULL, s_address VARCHAR NOT NULL, s_nationkey INTEGER NOT NULL, s_phone VARCHAR NOT NULL,
    s_acctbal DECIMAL(15, 2) NOT NULL, s_comment VARCHAR NOT NULL);
INSERT INTO supplier
SELECT key, printf('Supplier#%09d', key), text_of('address', key, 2), nation, phone_of(nation, key),
    CAST(draw('balance', key, 1099999) - 99999 AS DECIMAL(15, 2)) / 100,
    text_of('supplier', key, 4) || CASE WHEN key % 40 = 7 THEN ' Customer even Complaints' ELSE '' END
FROM (SELECT key, key * 7 % 25 AS nation FROM range(1, 101) AS all_keys(key));

CREATE TABLE part (
    p_partkey INTEGER PRIMARY KEY, p_name VARCHAR NOT NULL, p_mfgr VARCHAR NOT NULL, p_brand VARCHAR NOT NULL, p_type VARCHAR NOT NULL,
    p_size INTEGER NOT NULL, p_container VARCHAR NOT NULL, p_retailprice DECIMAL(15, 2) NOT NULL, p_comment VARCHAR NOT NULL);
INSERT INTO part
SELECT key,
    array_to_string([['almond', 'antique', 'aquamarine', 'azure', 'beige', 'bisque', 'black', 'blue', 'brown', 'chiffon', 'chocolate', 'coral',
        'cream', 'cyan', 'dark', 'firebrick', 'forest', 'frosted', 'ghost', 'green', 'honeydew', 'ivory'][1 + draw('name' || word, key, 22)]
        FOR word IN range(5)], ' '),
    printf('Manufacturer#%d', maker), printf('Brand#%d%d', maker, 1 + draw('brand', key, 5)),
    ['STANDARD', 'SMALL', 'MEDIUM', 'LARGE', 'ECONOMY', 'PROMO'][1 + draw('type1', key, 6)] || ' '
        || ['ANODIZED', 'BURNISHED', 'PLATED', 'POLISHED', 'BRUSHED'][1 + draw('type2', key, 5)] || ' '
        || ['TIN', 'NICKEL', 'BRASS', 'STEEL', 'COPPER'][1 + draw('type3', key, 5)],
    1 + draw('size', key, 50),
    ['SM', 'LG', 'MED', 'JUMBO', 'WRAP'][1 + draw('container1', key, 5)] || ' '
        || ['CASE', 'BOX', 'BAG', 'JAR', 'PKG', 'PACK', 'CAN', 'DRUM'][1 + draw('container2', key, 8)],
    price_of(key), text_of('part', key, 3)
FROM (SELECT key, 1 + draw('maker', key, 5) AS maker FROM range(1, 2001) AS all_keys(key));

CREATE TABLE partsupp (
    ps_partkey INTEGER, ps_suppkey INTEGER, ps_availqty INTEGER NOT NULL, ps_supplycost DECIMAL(15, 2) NOT NULL, ps_comment VARCHAR NOT NULL,
    PRIMARY KEY (ps_partkey, ps_suppkey));
INSERT INTO partsupp
SELECT part, supplier_of(part, number), 1 + draw('available', key, 9999), CAST(100 + draw('cost', key, 99901) AS DECIMAL(15, 2)) / 100,
    text_of('partsupp', key, 6)
FROM (SELECT part, number, part * 4 + number AS key FROM range(1, 2001) AS parts(part), range(4) AS numbers(number));

CREATE TABLE customer (
    c_custkey INTEGER PRIMARY KEY, c_name VARCHAR NOT NULL, c_address VARCHAR NOT NULL, c_nationkey INTEGER NOT NULL, c_phone VARCHAR NOT NULL,
    c_acctbal DECIMAL(15, 2) NOT NULL, c_mktsegment VARCHAR NOT NULL, c_comment VARCHAR NOT NULL);
INSERT INTO customer
SELECT key, printf('Customer#%09d', key), text_of('address', key, 2), nation, phone_of(nation, key),
    CAST(draw('money', key, 1099999) - 99999 AS DECIMAL(15, 2)) / 100,
    ['AUTOMOBILE', 'BUILDING', 'FURNITURE', 'MACHINERY', 'HOUSEHOLD'][1 + draw('segment', key, 5)], text_of('customer', key, 5)
FROM (SELECT key, draw('customer', key, 25) AS nation FROM range(1, 1501) AS all_keys(key));

CREATE TABLE lineitem (
    l_orderkey INTEGER, l_partkey INTEGER NOT NULL, l_suppkey INTEGER NOT NULL, l_linenumber INTEGER, l_quantity DECIMAL(15, 2) NOT NULL,
    l_extendedprice DECIMAL(15, 2) NOT NULL, l_discount DECIMAL(15, 2) NOT NULL, l_tax DECIMAL(15, 2) NOT NULL, l_returnflag VARCHAR NOT NULL,
    l_linestatus VARCHAR NOT NULL, l_shipdate DATE NOT NULL, l_commitdate DATE NOT NULL, l_receiptdate DATE NOT NULL,
    l_shipinstruct VARCHAR NOT NULL, l_shipmode VARCHAR NOT NULL, l_comment VARCHAR NOT NULL, PRIMARY KEY (l_orderkey, l_linenumber));
INSERT INTO lineitem
WITH ordered AS (
    SELECT 32 * (number // 8) + number % 8 + 1 AS orderkey, DATE '1992-01-01' + draw('order', number, 2406) AS orderdate,
        1 + draw('lines', number, 7) AS line_count
    FROM range(15000) AS numbers(number)),
lines AS (
    SELECT orderkey, orderdate, line, orderkey * 8 + line AS key FROM ordered, range(1, 8) AS all_lines(line) WHERE line <= line_count),
drawn AS (
    SELECT *, 1 + draw('part', key, 2000) AS part, 1 + draw('pieces', key, 50) AS quantity,
        orderdate + 1 + draw('ship', key, 121) AS shipdate
    FROM lines)
SELECT orderkey, part, supplier_of(part, draw('from', key, 4)), line, quantity, quantity * price_of(part),
    CAST(draw('discount', key, 11) AS DECIMAL(15, 2)) / 100, CAST(draw('tax', key, 9) AS DECIMAL(15, 2)) / 100,
    CASE WHEN shipdate + 1 + draw('receipt', key, 30) > DATE '1995-06-17' THEN 'N' WHEN draw('flag', key, 2) = 0 THEN 'R' ELSE 'A' END,
    CASE WHEN shipdate > DATE '1995-06-17' THEN 'O' ELSE 'F' END,
    shipdate, orderdate + 30 + draw('commit', key, 61), shipdate + 1 + draw('receipt', key, 30),
    ['DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN'][1 + draw('instruct', key, 4)],
    ['REG AIR', 'AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB'][1 + draw('mode', key, 7)], text_of('line', key, 3)
FROM drawn ORDER BY orderkey, line;

CREATE TABLE orders (
    o_orderkey INTEGER PRIMARY KEY, o_custkey INTEGER NOT NULL, o_orderstatus VARCHAR NOT NULL, o_totalprice DECIMAL(15, 2) NOT NULL,
    o_orderdate DATE NOT NULL, o_orderpriority VARCHAR NOT NULL, o_clerk VARCHAR NOT NULL, o_shippriority INTEGER NOT NULL,
    o_comment VARCHAR NOT NULL);
INSERT INTO orders
WITH totals AS (
    SELECT l_orderkey, SUM(l_extendedprice * (1 + l_tax) * (1 - l_discount)) AS total, MIN(l_linestatus) AS least, MAX(l_linestatus) AS most
    FROM lineitem GROUP BY l_orderkey)
SELECT orderkey, 1 + 3 * (customer // 2) + customer % 2, CASE WHEN least = most THEN least ELSE 'P' END, total,
    DATE '1992-01-01' + draw('order', number, 2406),
    ['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW'][1 + draw('priority', number, 5)],
    printf('Clerk#%09d', 1 + draw('clerk', number, 10)), 0, text_of('order', number, 7)
FROM (
    SELECT number, 32 * (number // 8) + number % 8 + 1 AS orderkey, draw('buyer', number, 1000) AS customer
    FROM range(15000) AS numbers(number)
) JOIN totals ON l_orderkey = orderkey
ORDER BY orderkey;

SELECT (SELECT COUNT(*) FROM region) AS region, (SELECT COUNT(*) FROM nation) AS nation, (SELECT COUNT(*) FROM supplier) AS supplier,
    (SELECT COUNT(*) FROM part) AS part, (SELECT COUNT(*) FROM partsupp) AS partsupp, (SELECT COUNT(*) FROM customer) AS customer,
    (SELECT COUNT(*) FROM orders) AS orders, (SELECT COUNT(*) FROM lineitem) AS lineitem;
