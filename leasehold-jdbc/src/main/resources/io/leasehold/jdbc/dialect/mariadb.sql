-- Leasehold's lease tables, version 1, for MariaDB 10.6 and newer and MySQL 8.0 and newer.
-- Names are compared by their bytes: any difference, even a blank at the end, makes two locks.
CREATE TABLE IF NOT EXISTS leasehold_lock (
    name VARBINARY(1024) PRIMARY KEY,
    origin VARCHAR(128) NOT NULL,
    owner VARCHAR(40),
    holder VARCHAR(512),
    expires_at BIGINT NOT NULL,
    ttl BIGINT NOT NULL,
    token BIGINT NOT NULL,
    waiter VARCHAR(40),
    waiting_since BIGINT NOT NULL,
    freed_at BIGINT NOT NULL,
    fence BIGINT NOT NULL,
    INDEX leasehold_lock_fence (fence)) ENGINE=InnoDB CHARACTER SET utf8mb4;
-- After the table of locks: a client that finds this one makes no other.
CREATE TABLE IF NOT EXISTS leasehold_store (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    schema_version INTEGER NOT NULL,
    store_id VARCHAR(64) NOT NULL,
    clock VARCHAR(16) NOT NULL,
    fence_floor BIGINT NOT NULL) ENGINE=InnoDB CHARACTER SET utf8mb4;
-- Records of clients that hold locks, for operators; no lock depends on them.
CREATE TABLE IF NOT EXISTS leasehold_client (
    holder VARBINARY(2048) PRIMARY KEY,
    origin VARCHAR(128) NOT NULL,
    expires_at BIGINT NOT NULL,
    told MEDIUMTEXT NOT NULL,
    taken TEXT) ENGINE=InnoDB CHARACTER SET utf8mb4;
