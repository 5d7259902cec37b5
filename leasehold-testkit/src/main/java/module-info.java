/** What users and store authors test with: a virtual world, the backend TCK, history checkers, faults. */
module io.leasehold.testkit {
    requires transitive io.leasehold.core;
    requires transitive org.junit.jupiter.api;
    requires org.slf4j;
    requires static transitive java.sql;
    requires static org.jspecify;

    exports io.leasehold.simulator.history;
    exports io.leasehold.testkit.process;
    exports io.leasehold.simulator.proxy;
    exports io.leasehold.simulator;
    exports io.leasehold.testkit.tck;
    exports io.leasehold.testkit.virtual;
}
