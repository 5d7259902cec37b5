package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Guarantee;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import io.leasehold.admin.Finding;
import io.leasehold.admin.Finding.Grade;
import io.leasehold.servers.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that a server is durable if its settings survive a restart, and that the doctor's advice makes it durable. */
@Tag("full")
@Timeout(120)
final class DurableSettingsTest {

    private static final Pattern WORD = Pattern.compile("\"([^\"]*)\"|(\\S+)");

    private static Finding persistence(String uri) {
        return found(uri, "persistence");
    }

    private static Finding found(String uri, String check) {
        try (LockClient locks = Leasehold.connect(uri)) {
            return locks.admin().diagnose().stream()
                    .filter(finding -> finding.check().equals(check))
                    .findFirst()
                    .orElseThrow();
        }
    }

    private static Guarantee.Exclusion promised(String uri) {
        try (LockClient locks = Leasehold.connect(uri)) {
            return locks.guarantees().exclusion();
        }
    }

    /** Pastes the printed commands into the server, line by line. */
    private static void follow(String remedy, RedisServer server) {
        for (String line : remedy.split("; ", -1)) {
            List<String> words = new ArrayList<>();
            Matcher word = WORD.matcher(line);
            while (word.find()) {
                words.add(word.group(1) != null ? word.group(1) : word.group(2));
            }
            assertThat(words.get(0)).as("a line that can be pasted: %s", line).isEqualTo("CONFIG");
            server.call(words.toArray(String[]::new));
        }
    }

    private static LockClient patient(String uri) {
        return Leasehold.builder()
                .store(uri)
                .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(60)))
                .connect();
    }

    /** Whether another client acquires a lock that a holder still considers valid, after the restart of the server. */
    private static boolean twoHoldAfterARestart(RedisServer server) throws InterruptedException {
        try (LockClient holder = patient(server.uri());
                Lease lease = holder.named("kept").acquire()) {
            server.kill();
            server.restart();
            try (LockClient other = patient(server.uri());
                    Lease second = other.named("kept").tryAcquire(Duration.ZERO)) {
                return second != null && lease.isValid();
            }
        }
    }

    @Test
    void settingsThatARestartForgetsPromiseNothing() throws Exception {
        try (RedisServer server = RedisUnderTest.start(builder -> builder)) {
            server.call("CONFIG", "SET", "appendonly", "yes");
            server.call("CONFIG", "SET", "appendfsync", "always");

            assertThat(promised(server.uri())).isEqualTo(Guarantee.Exclusion.BEST_EFFORT);
            assertThatThrownBy(() -> Leasehold.builder()
                            .store(server.uri())
                            .require(Guarantee.Exclusion.WITHIN_DRIFT)
                            .connect()
                            .close())
                    .isInstanceOf(LockStoreException.class);
            Finding finding = persistence(server.uri());
            assertThat(finding.grade()).isEqualTo(Grade.UNSAFE);
            assertThat(finding.reason()).contains("configuration file");
            assertThat(twoHoldAfterARestart(server)).as("why").isTrue();
        }
    }

    @Test
    void theAdviceIsExecutedAndThenLocksSurviveARestart() throws Exception {
        try (RedisServer server = RedisUnderTest.start(builder -> builder)) {
            Finding finding = persistence(server.uri());
            assertThat(finding.grade()).isEqualTo(Grade.UNSAFE);

            follow(finding.remedy(), server);

            NodeBench.until(
                    "the first append-only file is written",
                    () -> persistence(server.uri()).grade() == Grade.GOOD);
            assertThat(promised(server.uri())).isEqualTo(Guarantee.Exclusion.WITHIN_DRIFT);
            assertThat(twoHoldAfterARestart(server)).isFalse();
            assertThat(promised(server.uri())).as("after the restart").isEqualTo(Guarantee.Exclusion.WITHIN_DRIFT);
            assertThat(persistence(server.uri()).grade()).isEqualTo(Grade.GOOD);
        }
    }

    @Test
    void whatWasChangedByHandIsMendedByItsAdvice() throws Exception {
        try (RedisServer server = RedisUnderTest.start(builder -> builder)) {
            server.call("CONFIG", "SET", "appendonly", "yes");
            server.call("CONFIG", "SET", "appendfsync", "always");

            follow(persistence(server.uri()).remedy(), server);

            NodeBench.until(
                    "the first append-only file is written",
                    () -> persistence(server.uri()).grade() == Grade.GOOD);
            assertThat(twoHoldAfterARestart(server)).isFalse();
        }
    }

    /** Other advice does not remove the guarantee either. */
    @Test
    void adviceOnOtherSettingsKeepsThePromise() {
        try (RedisServer server =
                RedisUnderTest.start(builder -> builder.durable().config("timeout 3"))) {
            assertThat(promised(server.uri())).isEqualTo(Guarantee.Exclusion.WITHIN_DRIFT);

            follow(found(server.uri(), "idle").remedy(), server);

            assertThat(found(server.uri(), "idle").grade()).isEqualTo(Grade.GOOD);
            assertThat(promised(server.uri())).isEqualTo(Guarantee.Exclusion.WITHIN_DRIFT);
        }
    }
}
