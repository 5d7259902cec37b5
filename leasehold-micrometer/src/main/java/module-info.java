/** Micrometer meters of locks. */
@SuppressWarnings({"requires-transitive-automatic", "requires-automatic"}) // Micrometer has no descriptor yet
module io.leasehold.micrometer {
    requires transitive io.leasehold.core;
    requires transitive micrometer.core;
    requires org.slf4j;
    requires static transitive org.jspecify;

    exports io.leasehold.micrometer;
}
