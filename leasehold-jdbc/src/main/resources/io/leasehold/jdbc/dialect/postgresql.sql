-- Leasehold's lease tables, version 1, for PostgreSQL 12 and newer.
CREATE TABLE IF NOT EXISTS leasehold_lock (
    name VARCHAR(1024) PRIMARY KEY,
    origin VARCHAR(128) NOT NULL,
    owner VARCHAR(40),
    holder VARCHAR(512),
    expires_at BIGINT NOT NULL,
    ttl BIGINT NOT NULL,
    token BIGINT NOT NULL,
    waiter VARCHAR(40),
    waiting_since BIGINT NOT NULL,
    freed_at BIGINT NOT NULL,
    fence BIGINT NOT NULL);
CREATE INDEX IF NOT EXISTS leasehold_lock_fence ON leasehold_lock (fence);
-- After the table of locks: a client that finds this one makes no other.
CREATE TABLE IF NOT EXISTS leasehold_store (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    schema_version INTEGER NOT NULL,
    store_id VARCHAR(64) NOT NULL,
    clock VARCHAR(16) NOT NULL,
    fence_floor BIGINT NOT NULL);
-- Records of clients that hold locks, for operators; no lock depends on them.
CREATE TABLE IF NOT EXISTS leasehold_client (
    holder VARCHAR(512) PRIMARY KEY,
    origin VARCHAR(128) NOT NULL,
    expires_at BIGINT NOT NULL,
    told TEXT NOT NULL,
    taken TEXT);
