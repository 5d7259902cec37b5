package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.redis.wire.KeyLayout;
import io.lettuce.core.ScriptOutputType;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests that names that are used once, such as those of orders, leave nothing at the server. */
@Tag("full")
class OneOffNamesTest {

    private static final int NAMES = 100_000;
    private static final int AT_ONCE = 400;
    private static final Duration RETENTION = Duration.ofMinutes(1);
    private static final Duration BOUND = Duration.ofMillis(7_500);

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    @Test
    void ofAHundredThousandNamesOnlyFencesAreLeftAndEachEndsWithTheRetention() {
        try (LockClient locks = Leasehold.connect(SERVER.server().uri())) {
            use(locks, NAMES);

            // A client that holds a lock for a second also has a record, which appears in a slow run of this test.
            Long others = SERVER.redis()
                    .eval(
                            "local others = 0 for _, key in ipairs(redis.call('KEYS', '*')) do"
                                    + " local left = redis.call('PTTL', key)"
                                    + " if left > ARGV[1] + 0 or left == -1 or key:sub(-6) ~= ':fence' and key ~= ARGV[2]"
                                    + " then others = others + 1 end end return others",
                            ScriptOutputType.INTEGER,
                            new String[0],
                            Long.toString(RETENTION.plus(BOUND).toMillis()),
                            KeyLayout.client(locks.holderId()));
            assertThat(others).isZero();
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
