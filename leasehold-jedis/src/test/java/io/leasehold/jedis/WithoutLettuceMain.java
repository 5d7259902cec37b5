package io.leasehold.jedis;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import redis.clients.jedis.RedisClient;

/** Acquires, awaits, renews, lists and releases locks without any class of Lettuce. */
public final class WithoutLettuceMain {

    private WithoutLettuceMain() {}

    /** Runs the steps, and returns a report of them. */
    public static String run(int port) throws Exception {
        try (RedisClient client = RedisClient.create("127.0.0.1", port);
                LockClient ours =
                        Leasehold.builder().store(JedisStore.over(client)::open).connect();
                LockClient others = Leasehold.builder()
                        .store(JedisStore.at("redis://127.0.0.1:" + port)::open)
                        .connect()) {
            Lease first = ours.named("order:1").acquire();
            first.renew();
            CompletableFuture<Lease> waiting = others.named("order:1").acquireAsync();
            int listed = ours.admin().list("order:*", 10).size();
            first.close();
            try (Lease second = waiting.get(60, TimeUnit.SECONDS)) {
                return "listed " + listed + ", handed over " + (second.fencingToken() > first.fencingToken()) + ", "
                        + byUri("redis://127.0.0.1:" + port)
                        + ", "
                        + byUri("redlock:?node=redis%3A%2F%2F127.0.0.1%3A" + port);
            }
        }
    }

    private static String byUri(String uri) {
        try {
            Leasehold.connect(uri).close();
            return "opened by its scheme";
        } catch (RuntimeException e) {
            return String.valueOf(e.getMessage());
        }
    }
}
