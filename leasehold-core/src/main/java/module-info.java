/** Distributed locks as leases: the API, the engine, and the in-memory store. */
module io.leasehold.core {
    requires jdk.jfr;
    requires org.slf4j;
    requires static transitive org.jspecify;

    exports io.leasehold;
    exports io.leasehold.admin;
    exports io.leasehold.spi;
    exports io.leasehold.spi.method;
    exports io.leasehold.spi.toolkit;
    exports io.leasehold.node;
    exports io.leasehold.fencing;
    exports io.leasehold.memory;
    exports io.leasehold.quorum;

    uses io.leasehold.spi.StoreProvider;

    provides io.leasehold.spi.StoreProvider with
            io.leasehold.memory.InMemoryStoreProvider;
}
