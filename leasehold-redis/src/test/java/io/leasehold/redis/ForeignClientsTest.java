package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Attempt;
import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.redis.wire.KeyLayout;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** A client that does {@code SET NX PX} and compare-and-delete on the key of a lock excludes Leasehold and is excluded, in any language. */
@Tag("full")
class ForeignClientsTest {

    private static final long FIVE_MINUTES = 300_000;
    private static final Duration RECHECK = Duration.ofMillis(500);
    private static final String NAME = "order 1001";

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    static Stream<Arguments> clientsAndTemplates() {
        return ForeignClient.all().flatMap(client -> Stream.of("lock:{*}", "*").map(t -> Arguments.of(client, t)));
    }

    private static int port() {
        return SERVER.server().port();
    }

    private static LockClient leasehold(String template) {
        return Leasehold.builder()
                .store(RedisStore.at("redis://127.0.0.1:" + port()).keys(template)::open)
                .connect();
    }

    private static String key(String template) {
        return KeyLayout.of(template).lock(LockName.exactly(NAME));
    }

    @ParameterizedTest
    @MethodSource("clientsAndTemplates")
    void theirLockIsBusyForUs(ForeignClient client, String template) throws InterruptedException {
        try (LockClient locks = leasehold(template)) {
            assertThat(client.lock(port(), key(template), "their-secret", FIVE_MINUTES))
                    .isTrue();

            assertThat(locks.named(NAME).attempt(Duration.ZERO))
                    .isInstanceOfSatisfying(
                            Attempt.Busy.class,
                            busy -> assertThat(busy.holder())
                                    .hasToString(String.valueOf(busy.holder()))
                                    .extracting("id")
                                    .isEqualTo("foreign client"));
            assertThat(SERVER.redis().get(key(template))).isEqualTo("their-secret");

            assertThat(client.unlock(port(), key(template), "their-secret")).isTrue();
            try (Lease lease = locks.named(NAME).attempt(Duration.ZERO).orElseThrow()) {
                assertThat(lease.isValid()).isTrue();
            }
        }
    }

    @ParameterizedTest
    @MethodSource("clientsAndTemplates")
    void ourLockIsBusyForThem(ForeignClient client, String template) throws InterruptedException {
        try (LockClient locks = leasehold(template)) {
            Lease lease = locks.named(NAME).attempt(Duration.ZERO).orElseThrow();

            assertThat(client.lock(port(), key(template), "their-secret", FIVE_MINUTES))
                    .isFalse();
            assertThat(client.unlock(port(), key(template), "their-secret")).isFalse();
            lease.renew();
            assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);

            assertThat(client.lock(port(), key(template), "their-secret", FIVE_MINUTES))
                    .isTrue();
        }
    }

    @ParameterizedTest
    @MethodSource("clientsAndTemplates")
    void theirReleaseIsNoticedAtTheRecheck(ForeignClient client, String template) throws Exception {
        try (LockClient locks = leasehold(template)) {
            assertThat(client.lock(port(), key(template), "their-secret", FIVE_MINUTES))
                    .isTrue();
            DistributedLock lock = locks.named(NAME).with(o -> o.recheck(RECHECK));
            CompletableFuture<Lease> waiting = lock.acquireAsync();
            String queue = KeyLayout.queued(key(template));
            NodeBench.until("queued", () -> SERVER.redis().exists(queue) == 1);
            assertThat(waiting).isNotDone();

            assertThat(client.unlock(port(), key(template), "their-secret")).isTrue();
            long releasedAtNanos = System.nanoTime();

            try (Lease lease = waiting.get(60, TimeUnit.SECONDS)) {
                // The bound itself is 0.6 s; the rest is for a machine that does other things.
                assertThat(System.nanoTime() - releasedAtNanos).isLessThan(TimeUnit.SECONDS.toNanos(20));
                assertThat(lease.isValid()).isTrue();
            }
        }
    }

    @ParameterizedTest
    @MethodSource("clientsAndTemplates")
    void aLockThatTheyTookAwayIsToldAsLost(ForeignClient client, String template) throws Exception {
        try (LockClient locks = leasehold(template)) {
            Lease lease = locks.named(NAME)
                    .with(o -> o.ttl(Duration.ofSeconds(2)).maxHold(Duration.ofMinutes(1)))
                    .attempt(Duration.ZERO)
                    .orElseThrow();
            CompletableFuture<LossCause> lost = new CompletableFuture<>();
            lease.onLost(lost::complete);

            // Like an operator with DEL; only then can the foreign clients acquire the lock.
            SERVER.redis().del(key(template));
            assertThat(client.lock(port(), key(template), "their-secret", FIVE_MINUTES))
                    .isTrue();

            assertThat(lost.get(60, TimeUnit.SECONDS)).isIn(LossCause.NOT_OURS, LossCause.EXPIRED);
            assertThat(lease.isValid()).isFalse();
            lease.close();
            assertThat(SERVER.redis().get(key(template))).isEqualTo("their-secret");
        }
    }
}
