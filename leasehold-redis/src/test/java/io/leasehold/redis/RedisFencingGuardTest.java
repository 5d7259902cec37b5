package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.Renewal;
import io.leasehold.fencing.Admission;
import io.leasehold.fencing.StaleTokenException;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.SlotHash;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of a Redis value that refuses older holders, on a real server. */
@Timeout(120)
@Tag("quick")
class RedisFencingGuardTest {

    @RegisterExtension
    static final RedisUnderTest REDIS = new RedisUnderTest();

    private final RedisFencingGuard guard = RedisFencingGuard.running((script, keys, arguments) -> REDIS.redis()
            .eval(script, ScriptOutputType.MULTI, keys.toArray(String[]::new), arguments.toArray(String[]::new)));

    @Test
    void admitsEqualAndNewerTokensAndRejectsOlderOnes() {
        List<Admission> seen = new ArrayList<>();
        RedisFencingGuard counted = guard.reportingTo(seen::add);
        assertThat(counted.admit("x", 7).isAdmitted()).isTrue();
        assertThat(counted.read("x", 7)).isEmpty();
        counted.write("x", 9, "nine");
        assertThat(counted.read("x", 9)).hasValue("nine");
        assertThat(counted.admit("x", 8)).isEqualTo(new Admission.Rejected("x", 8, 9));
        assertThatThrownBy(() -> counted.write("x", 8, "eight"))
                .isInstanceOfSatisfying(
                        StaleTokenException.class,
                        e -> assertThat(e.rejection().newest()).isEqualTo(9));
        assertThatThrownBy(() -> counted.read("x", 8)).isInstanceOf(StaleTokenException.class);
        assertThatThrownBy(() -> counted.delete("x", 8)).isInstanceOf(StaleTokenException.class);
        assertThat(REDIS.redis().get("x")).isEqualTo("nine");
        counted.delete("x", 9);
        assertThat(counted.read("x", 9)).isEmpty();
        assertThat(counted.admit("x", 8).isAdmitted())
                .as("the token outlives the value")
                .isFalse();
        assertThat(counted.admit("other", 1).isAdmitted()).isTrue();
        assertThat(seen.stream().filter(admission -> !admission.isAdmitted())).hasSize(5);
    }

    /** The token is unchanged, too: a holder whose operation failed does not exclude earlier holders. */
    @Test
    void whatFailsChangesNothing() {
        guard.write("x", 5, "five");
        REDIS.redis().rpush("list", "item");
        guard.admit("list", 5).orElseThrow();
        assertThatThrownBy(() -> guard.read("list", 7)).hasMessageContaining("WRONGTYPE");
        assertThatThrownBy(() -> guard.read("list", 5)).hasMessageContaining("WRONGTYPE");
        assertThat(guard.admit("list", 6).isAdmitted())
                .as("7 has not been here")
                .isTrue();

        REDIS.server().call("ACL", "SETUSER", "reader", "on", ">secret", "~*", "+eval", "+get", "+set");
        RedisURI asReader = RedisURI.create(REDIS.server().uri().replace("//", "//reader:secret@"));
        try (StatefulRedisConnection<String, String> connection = REDIS.client().connect(asReader)) {
            RedisFencingGuard limited = RedisFencingGuard.running((script, keys, arguments) -> connection
                    .sync()
                    .eval(
                            script,
                            ScriptOutputType.MULTI,
                            keys.toArray(String[]::new),
                            arguments.toArray(String[]::new)));
            assertThatThrownBy(() -> limited.delete("x", 9)).isInstanceOf(RedisCommandExecutionException.class);
            assertThatThrownBy(() -> limited.delete("fresh", 9)).isInstanceOf(RedisCommandExecutionException.class);
        }
        assertThat(guard.admit("x", 6).isAdmitted()).as("9 has deleted nothing").isTrue();
        assertThat(REDIS.redis().get("x")).isEqualTo("five");
        assertThat(guard.admit("fresh", 1).isAdmitted())
                .as("nor what is not there")
                .isTrue();
    }

    @Test
    void tokensBelowTheLimitAreComparedExactly() {
        long largest = (1L << 53) - 1;
        guard.admit("x", largest - 1).orElseThrow();
        assertThat(guard.admit("x", largest - 2).isAdmitted()).isFalse();
        guard.admit("x", largest).orElseThrow();
        assertThat(guard.admit("x", largest - 1)).isEqualTo(new Admission.Rejected("x", largest - 1, largest));
        assertThatIllegalArgumentException().isThrownBy(() -> guard.admit("x", largest + 1));
    }

    @Test
    void theTokenIsInTheSlotOfTheValue() {
        for (String key : new String[] {"plain", "order:{1001}", "a{b", "x{y}z}", "{tag}", "{a{b}", "{x}y"}) {
            List<String> used = new ArrayList<>();
            RedisFencingGuard.running((script, keys, arguments) -> {
                        used.addAll(keys);
                        return List.of("admitted");
                    })
                    .admit(key, 1);
            assertThat(SlotHash.getSlot(used.get(1))).as(used.toString()).isEqualTo(SlotHash.getSlot(key));
        }
    }

    /** Two keys have two fences: none of these affects another. */
    @Test
    void noTwoKeysShareAFence() {
        List<String> keys = List.of("x", "{x}", "{x}{x}", "{{x}}", "x{x}", "{x}x", "", "{}", "a{b", "{a{b}", "{a{b}}");
        Set<String> fences = new HashSet<>();
        RedisFencingGuard recording = RedisFencingGuard.running((script, used, arguments) -> {
            fences.add(used.get(1));
            return List.of("admitted");
        });
        keys.forEach(key -> recording.admit(key, 1));
        assertThat(fences).hasSameSizeAs(keys).doesNotContainAnyElementsOf(keys);

        guard.write("x", 9, "nine");
        guard.write("{x}", 5, "five");
        assertThat(guard.read("{x}", 5)).hasValue("five");
        assertThat(guard.read("x", 9)).hasValue("nine");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "-5", "nan", "inf", "0x10", "1e3", "5.5", " 5", "9007199254740992"})
    void whatIsNoTokenLetsNobodyIn(String rubbish) {
        REDIS.redis().set("{x}:fencing-token", rubbish);
        assertThatThrownBy(() -> guard.write("x", 5, "five"))
                .isInstanceOf(RedisCommandExecutionException.class)
                .hasMessageContaining("no fencing token");
        assertThat(REDIS.redis().get("x")).isNull();
    }

    @Test
    void rubbishInPlaceOfTheTokenLetsNobodyIn() {
        REDIS.redis().set("{x}:fencing-token", "rubbish");
        assertThatThrownBy(() -> guard.write("x", 5, "five"))
                .isInstanceOf(RedisCommandExecutionException.class)
                .hasMessageContaining("no fencing token");
        assertThat(REDIS.redis().get("x")).isNull();
        assertThatIllegalStateException()
                .isThrownBy(() -> RedisFencingGuard.running((script, keys, arguments) -> List.of(1L))
                        .admit("x", 1))
                .withMessageContaining("EVAL");
    }

    /**
     * The holder pauses for longer than its lease, a second one follows, and the guard then refuses the requests of the
     * first.
     */
    @Test
    void aPausedHolderIsRejected() throws InterruptedException {
        try (LockClient one = Leasehold.connect(REDIS.server().uri().toString());
                LockClient two = Leasehold.connect(REDIS.server().uri().toString())) {
            Lease paused = one.named("order")
                    .with(o -> o.ttl(Duration.ofMillis(500)).renewal(Renewal.none()))
                    .acquire();
            guard.write("order", paused.fencingToken(), "1");
            try (Lease next = two.named("order").acquire()) {
                long amount =
                        Long.parseLong(guard.read("order", next.fencingToken()).orElseThrow());
                assertThatThrownBy(() -> guard.write("order", paused.fencingToken(), "100"))
                        .isInstanceOf(StaleTokenException.class);
                guard.write("order", next.fencingToken(), Long.toString(amount + 1));
            }
            assertThat(REDIS.redis().get("order")).isEqualTo("2");
        }
    }

    /** Holders whose leases end at any moment read, and write later: no admitted update is lost. */
    @Test
    void noAcknowledgedUpdateIsLost() throws Exception {
        AtomicLong tokens = new AtomicLong();
        AtomicLong acknowledged = new AtomicLong();
        List<Admission> rejected = new CopyOnWriteArrayList<>();
        RedisFencingGuard counted = guard.reportingTo(admission -> {
            if (admission instanceof Admission.Rejected) {
                rejected.add(admission);
            }
        });
        List<CompletableFuture<Void>> runs = new ArrayList<>();
        for (int holder = 0; holder < 3; holder++) {
            runs.add(CompletableFuture.runAsync(() -> {
                for (int i = 0; i < 200; i++) {
                    long token = tokens.incrementAndGet();
                    try {
                        long amount =
                                Long.parseLong(counted.read("amount", token).orElse("0"));
                        LockSupport.parkNanos(100_000);
                        counted.write("amount", token, Long.toString(amount + 1));
                        acknowledged.incrementAndGet();
                    } catch (StaleTokenException stopped) {
                        assertThat(stopped.rejection().newest()).isGreaterThan(token);
                    }
                }
            }));
        }
        for (CompletableFuture<Void> run : runs) {
            run.get();
        }
        assertThat(rejected).as("some were too late, or nothing was tried").isNotEmpty();
        assertThat(acknowledged.get() + rejected.size()).isEqualTo(600);
        assertThat(REDIS.redis().get("amount")).isEqualTo(Long.toString(acknowledged.get()));
    }
}
