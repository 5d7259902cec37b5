package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.ReleaseOutcome;
import io.lettuce.core.RedisClient;
import java.net.URL;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A short end-to-end test, which also runs on the oldest supported driver. */
@Tag("quick")
class RedisSmokeTest {

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    @Test
    void theDriverIsTheOneThisRunIsFor() {
        String expected = System.getProperty("expected.lettuce", "");
        URL driver = RedisClient.class.getProtectionDomain().getCodeSource().getLocation();
        assertThat(driver.toString()).contains("lettuce-core").contains(expected);
    }

    @Test
    void locksAreHeldWaitedForListedAndReleased() throws Exception {
        try (LockClient one = Leasehold.connect(SERVER.server().uri());
                LockClient other = Leasehold.connect(SERVER.server().uri());
                EfficiencyLocks plain = EfficiencyLocks.connect(SERVER.server().uri())) {
            Lease lease = one.named("order:1").acquire();
            CompletableFuture<Lease> waiting = other.named("order:1").acquireAsync();
            assertThat(plain.named("order:1").tryAcquire(Duration.ZERO)).isNull();
            lease.renew();
            NodeBench.until("queued", () -> SERVER.redis().exists("lock:{order:1}:queued") == 1);
            assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
            try (Lease next = waiting.get(60, TimeUnit.SECONDS);
                    Hold hold = plain.named("order:2").acquire();
                    var both = one.all(LockName.exactly("b"), LockName.exactly("a"))
                            .acquire()) {
                assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
                assertThat(hold.isValid()).isTrue();
                assertThat(both.isValid()).isTrue();
                assertThat(other.admin().list("*", 10)).hasSize(4);
            }
            assertThat(one.admin().list("*", 10)).isEmpty();
        }
    }
}
