package io.leasehold.redis.topology;

/** Names the master, which may change. Safe for all threads. */
interface Naming extends Connections.Locator, AutoCloseable {

    /** Begins to look out for changes. */
    void watch();

    /** The master may be another: who names it is asked, once for all that say so meanwhile. */
    void ask();

    @Override
    void close();
}
