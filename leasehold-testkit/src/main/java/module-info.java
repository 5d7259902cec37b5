/** What users and store authors test with: a virtual world, the backend TCK, history checkers, faults. */
module io.leasehold.testkit {
    requires transitive io.leasehold.core;
    requires transitive org.junit.jupiter.api;
    requires org.slf4j;
    requires static transitive java.sql;
    requires static org.jspecify;

    exports io.leasehold.testkit.history;
    exports io.leasehold.testkit.process;
    exports io.leasehold.testkit.proxy;
    exports io.leasehold.testkit.simulation;
    exports io.leasehold.testkit.tck;
    exports io.leasehold.testkit.virtual;
}
