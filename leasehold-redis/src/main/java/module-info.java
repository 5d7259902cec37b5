/** Locks in Redis or Valkey, over Lettuce. */
@SuppressWarnings("requires-automatic") // Lettuce has a stable automatic module name and no descriptor
module io.leasehold.redis {
    requires transitive io.leasehold.core;
    requires lettuce.core;
    requires org.slf4j;
    requires static org.jspecify;

    exports io.leasehold.redis;

    provides io.leasehold.spi.StoreProvider with
            io.leasehold.redis.RedisStoreProvider;
}
