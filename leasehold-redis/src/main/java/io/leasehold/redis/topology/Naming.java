package io.leasehold.redis.topology;

/** Locates the master, which may change. Safe for all threads. */
interface Naming extends Connections.Locator, AutoCloseable {

    /** Starts to watch for changes. */
    void watch();

    /** Asks for the master again, since it may have changed; one question serves all calls of the meantime. */
    void ask();

    @Override
    void close();
}
