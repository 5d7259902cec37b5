package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.admin.LockAdmin;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.RedisErrors;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests of locks with other keys than {@code lock:{name}} at a real server, with the documented rights and number of
 * keys.
 */
@Tag("quick")
class RedisKeyTemplateTest {

    private static final Path DOCUMENT = Path.of("..", "docs", "wire-format.md");

    @RegisterExtension
    static final RedisUnderTest SERVER =
            new RedisUnderTest(b -> b.user("bare", "on >secret resetchannels " + rights("~order:* ~{order:*"))
                    .user("app", "on >secret resetchannels " + rights("~app:* ~{app:*"))
                    .user("standard", "on >secret resetchannels " + rights("~lock:*")));

    private static String rights(String keys) {
        return RedisErrors.RIGHTS.replace("~lock:*", keys);
    }

    private static LockClient connect(String user, String template) {
        return Leasehold.connect(
                "redis://" + user + "127.0.0.1:" + SERVER.server().port() + "?keys=" + template);
    }

    /** All operations of a lock, which leaves only side keys in its own slot. */
    @ParameterizedTest
    @CsvSource({
        "bare,     *,        order:1,   order:1",
        "app,      app:*,    order:1,   app:order:1",
        "standard, lock:{*}, order:1,   lock:{order:1}",
        "bare,     *,        order:{7}, order:{7}"
    })
    void aUserWithTheDocumentedRightsCanDoEverything(String user, String template, String name, String key)
            throws Exception {
        String credentials = user + ":secret@";
        SERVER.redis().aclLogReset();
        try (LockClient holder = connect(credentials, template);
                LockClient waiter = connect(credentials, template)) {
            Lease held = holder.named(name).acquire();
            assertThat(SERVER.redis().get(key)).contains(":" + held.fencingToken() + ":");
            CompletableFuture<Lease> waiting = waiter.named(name).acquireAsync();
            NodeBench.until("queued", () -> SERVER.redis().exists(KeyLayout.queued(key)) == 1);
            held.renew();
            assertThat(holder.admin().list("*", 10))
                    .extracting(LockAdmin.HeldLock::name)
                    .containsExactly(LockName.exactly(name));

            held.release();
            try (Lease next = waiting.get(60, TimeUnit.SECONDS)) {
                assertThat(next.fencingToken()).isGreaterThan(held.fencingToken());
                assertThat(holder.admin().inspect(LockName.exactly(name))).isPresent();
            }
            assertThat(waiter.admin().inspect(LockName.exactly(name))).isEmpty();
            assertThat(keysOfLocks()).containsExactly(KeyLayout.fence(key));
            try (Lease forced = holder.named(name).acquire()) {
                assertThat(waiter.admin().forceRelease(LockName.exactly(name), null))
                        .isTrue();
            }
            assertThat(SERVER.redis().aclLog().stream()
                            .map(entry -> entry.get("object"))
                            .filter(object -> !String.valueOf(object).startsWith("client")))
                    .isEmpty();
        }
    }

    @Test
    void aMissingRightNamesTheKeysOfTheTemplate() {
        try (LockClient locks = connect("standard:secret@", "app:*")) {
            assertThatThrownBy(() -> locks.named("x").acquire())
                    .isInstanceOf(StoreAccessException.class)
                    .hasMessageContaining("ACL SETUSER <user> ~app:* ~{app:*");
        }
    }

    @Test
    void aLockThatWouldBeASideKeyIsRefusedAndNothingIsTouched() throws InterruptedException {
        try (LockClient locks = connect("", "*");
                Lease lease = locks.named("x").acquire()) {
            List<String> before = keysOfLocks();
            for (String name : List.of("{x}:fence", "{x}", "a}b", "rw:{x}")) {
                assertThatThrownBy(() -> locks.named(name).acquire())
                        .isInstanceOf(LockStoreException.class)
                        .hasMessageContaining("\"" + name + "\"")
                        .hasMessageContaining("lock:{*}");
                assertThat(locks.admin().inspect(LockName.exactly(name))).isEmpty();
                assertThat(locks.admin().forceRelease(LockName.exactly(name), null))
                        .isFalse();
            }
            assertThatThrownBy(() -> locks.all(LockName.exactly("y"), LockName.exactly("{x}:fence"))
                            .acquire())
                    .isInstanceOf(LockStoreException.class);
            // The first of several locks may have been acquired before the other was refused; it was released.
            assertThat(keysOfLocks())
                    .filteredOn(key -> !key.equals("{y}:fence"))
                    .containsExactlyInAnyOrderElementsOf(before);
            assertThat(lease.isValid()).isTrue();
        }
    }

    @Test
    void severalLocksOfABareTemplateAreTakenAtOnce() throws InterruptedException {
        try (LockClient locks = connect("", "*");
                var both =
                        locks.all(LockName.exactly("b"), LockName.exactly("a")).acquire()) {
            assertThat(both.isValid()).isTrue();
            assertThat(SERVER.redis().exists("a", "b")).isEqualTo(2);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"redis://h?keys=lock", "redis://h?keys=rw:%7B*%7D", "redis://h?keys="})
    void badTemplatesAreRefusedBeforeAnythingIsConnected(String uri) {
        assertThatThrownBy(() -> Leasehold.connect(uri))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("key template");
    }

    @Test
    void membersOfASetTakeNoTemplate() {
        assertThatThrownBy(() -> Redlock.over("redis://h?keys=*"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("keys=");
    }

    /** Runs the one-liners of the specification unchanged. */
    @ParameterizedTest
    @ValueSource(strings = {"lock:{*}", "app:*", "*"})
    void theDocumentedOneLinerCountsWhatTheLibraryCounts(String template) throws Exception {
        List<Lease> leases = new ArrayList<>();
        try (LockClient locks = connect("", template);
                LockClient others = connect("", template)) {
            for (String name : List.of(
                    "a", "b", "with blank", "zürich/☂", "{tag}:x", "x:fence", "x:queued", "50%", "a{b", "[x]", "x*")) {
                leases.add(locks.named(name).acquire());
            }
            // Waited for, so that it has all the side keys there are; and some that only have been held.
            CompletableFuture<Lease> waiting = others.named("a").acquireAsync();
            String queue = KeyLayout.queued(KeyLayout.of(template).lock(LockName.exactly("a")));
            NodeBench.until("queued", () -> SERVER.redis().exists(queue) == 1);
            for (int i = 0; i < 20; i++) {
                locks.named("released:" + i).acquire().close();
            }

            int counted = locks.admin().list("*", 1_000).size();
            assertThat(counted).isEqualTo(11);
            assertThat(oneLiner(template)).isEqualTo(counted);

            waiting.cancel(false);
            leases.forEach(Lease::close);
            NodeBench.until("all released", () -> locks.admin().list("*", 1_000).isEmpty());
            assertThat(oneLiner(template)).isZero();
        }
    }

    private static int oneLiner(String template) throws IOException {
        Matcher block = Pattern.compile("(?s)```count\n(.*?)```").matcher(Files.readString(DOCUMENT));
        assertThat(block.find()).isTrue();
        String line = block.group(1)
                .lines()
                .filter(l -> l.startsWith(template + " | "))
                .findFirst()
                .orElseThrow()
                .substring(template.length() + 3)
                .replace(
                        "redis-cli",
                        BundledBinaries.redisCli() + " -p " + SERVER.server().port());
        return Integer.parseInt(ForeignClient.Programs.run(List.of("/bin/sh", "-c", line)));
    }

    /** Without the record of a client that has held something for a second, which depends on how fast a test runs. */
    private static List<String> keysOfLocks() {
        return SERVER.redis().keys("*").stream()
                .filter(key -> !key.startsWith("lock:client:"))
                .toList();
    }
}
