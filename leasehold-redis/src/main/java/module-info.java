/** Locks in Redis or Valkey, over Lettuce. */
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic", "module"
}) // leasehold-jedis does not exist yet when this compiles; Lettuce has a stable automatic module name but no
// descriptor
module io.leasehold.redis {
    requires transitive io.leasehold.core;
    requires transitive lettuce.core; // for applications that pass their own client
    // Lettuce has no descriptor that requires these modules; they require the rest of Netty.
    requires io.netty.buffer;
    requires io.netty.handler;
    requires io.netty.resolver.dns;
    requires io.netty.transport;
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
