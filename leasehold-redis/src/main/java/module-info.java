/** Locks in Redis or Valkey, over Lettuce. */
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic", "module"
}) // leasehold-jedis is not there when this is compiled; Lettuce has a stable automatic module name and no descriptor
module io.leasehold.redis {
    requires transitive io.leasehold.core;
    requires transitive lettuce.core; // for applications that bring a client of their own
    // Lettuce has no descriptor that would bring these in; the rest of Netty comes with them.
    requires io.netty.buffer;
    requires io.netty.handler;
    requires io.netty.resolver.dns;
    requires org.slf4j;
    requires static org.jspecify;

    exports io.leasehold.redis;
    exports io.leasehold.redis.store to
            io.leasehold.jedis;
    exports io.leasehold.redis.topology to
            io.leasehold.jedis;
    exports io.leasehold.redis.node to
            io.leasehold.jedis;
    exports io.leasehold.redis.wire to
            io.leasehold.jedis;

    provides io.leasehold.spi.StoreProvider with
            io.leasehold.redis.RedisStoreProvider,
            io.leasehold.redis.RedlockStoreProvider;
}
