-- Leasehold's lease tables, version 2, for SQLite.
CREATE TABLE IF NOT EXISTS leasehold_lock (
    name TEXT PRIMARY KEY,
    origin TEXT NOT NULL,
    owner TEXT,
    holder TEXT,
    expires_at INTEGER NOT NULL,
    ttl INTEGER NOT NULL,
    token INTEGER NOT NULL,
    waiter TEXT,
    waiting_since INTEGER NOT NULL,
    freed_at INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    life TEXT) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS leasehold_lock_fence ON leasehold_lock (fence);
-- After the table of locks: a client that finds this one makes no other.
CREATE TABLE IF NOT EXISTS leasehold_store (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    schema_version INTEGER NOT NULL,
    store_id TEXT NOT NULL,
    clock TEXT NOT NULL,
    fence_floor INTEGER NOT NULL,
    token_horizon INTEGER NOT NULL DEFAULT 0,
    boot TEXT NOT NULL DEFAULT '');
-- Records of clients that hold locks, for operators; no lock depends on them.
CREATE TABLE IF NOT EXISTS leasehold_client (
    holder TEXT PRIMARY KEY,
    origin TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    told TEXT NOT NULL,
    taken TEXT) WITHOUT ROWID;
