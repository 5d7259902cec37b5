package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.redis.node.NodeSettings;
import io.leasehold.redis.store.RedisGuarantees;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.topology.DriverThreads;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Names that are used once, such as those of orders, leave nothing at the server. */
@Tag("full")
class OneOffNamesTest {

    private static final int NAMES = 100_000;
    private static final int AT_ONCE = 400;
    private static final Duration RETENTION = Duration.ofSeconds(2);

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private static LockStore shortMemory(LockRuntime runtime) {
        NodeOpening opening =
                new NodeOpening(Deployment.parse(StoreUri.parse(SERVER.server().uri())), runtime, new DriverThreads());
        NodeBench.answer(opening.outcome());
        NodeSettings settings =
                NodeSettings.standard(RedisGuarantees.single(false)).retention(RETENTION);
        return new SingleNodeStore(opening.node(settings), runtime);
    }

    @Test
    void aHundredThousandNamesAreForgottenWhenTheRetentionHasPassed() {
        try (LockClient locks =
                Leasehold.builder().store(OneOffNamesTest::shortMemory).connect()) {
            use(locks, NAMES);
            assertThat(SERVER.redis().info("commandstats")).contains("cmdstat_set");

            NodeBench.until("the server is empty", () -> SERVER.redis().dbsize() == 0);
        }
    }

    /** The same with the retention that everybody has, as far as that can be seen without waiting for it. */
    @Test
    void everyKeyThatIsLeftEndsWithTheRetention() {
        try (LockClient locks = Leasehold.connect(SERVER.server().uri())) {
            use(locks, 1_000);

            List<String> left = SERVER.redis().keys("*");
            // A client that has held something for a second has a record, too, which a slow run of this test meets.
            String record = KeyLayout.client(locks.holderId());
            assertThat(left)
                    .filteredOn(key -> !key.equals(record))
                    .hasSize(1_000)
                    .allMatch(key -> key.endsWith(":fence"));
            assertThat(left)
                    .allSatisfy(key -> assertThat(SERVER.redis().pttl(key))
                            .isPositive()
                            .isLessThanOrEqualTo(Duration.ofMinutes(1)
                                    .plus(Duration.ofMillis(7_500))
                                    .toMillis()));
        }
    }

    private static void use(LockClient locks, int names) {
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int i = 0; i < names; i++) {
            all.add(locks.named("order:" + i)
                    .with(OneOffNamesTest::patient)
                    .acquireAsync()
                    .thenCompose(lease -> lease.releaseAsync().thenAccept(outcome -> {})));
            if (all.size() == AT_ONCE) {
                CompletableFuture.allOf(all.toArray(CompletableFuture<?>[]::new))
                        .join();
                all.clear();
            }
        }
        CompletableFuture.allOf(all.toArray(CompletableFuture<?>[]::new)).join();
    }

    private static LockOptions patient(LockOptions options) {
        return options.nodeTimeout(Duration.ofSeconds(5));
    }
}
