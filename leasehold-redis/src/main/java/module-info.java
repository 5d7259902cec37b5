/** Locks in Redis or Valkey, over Lettuce. */
module io.leasehold.redis {
    requires io.leasehold.core;
    requires lettuce.core;
    requires org.slf4j;
    requires static org.jspecify;

    exports io.leasehold.redis;

    provides io.leasehold.spi.StoreProvider with
            io.leasehold.redis.RedisStoreProvider;
}
