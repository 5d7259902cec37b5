package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.Permit;
import io.leasehold.StoreAccessException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of permits at a real server: keys of other programs, a lock of the same name, and missing rights. */
@Tag("full")
class RedisPermitsTest {

    private static final String ALL = "All that Leasehold needs: ACL SETUSER <user> ";
    private static final Pattern GRANT = Pattern.compile("can grant it: ACL SETUSER <user> (.*?)\\. All");

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private static LockClient connect() {
        return Leasehold.connect(SERVER.server().uri());
    }

    @Test
    void keysOfOtherProgramsDoNotHidePermits() throws Exception {
        SERVER.redis().set("permits:{a user}", "Ann");
        SERVER.redis().hset("permits:{user}", "name", "Bob");
        SERVER.redis().hset("permits:{z}", "0", "x");
        try (LockClient locks = connect();
                Permit held = locks.permits("pool", 2).acquire()) {
            assertThat(locks.admin().listPermits("*", 10))
                    .hasSize(1)
                    .allMatch(permits -> permits.name().equals(held.lockName()));
            assertThatThrownBy(() -> locks.admin().permits(LockName.exactly("user")))
                    .isInstanceOf(LockStoreException.class)
                    .hasMessageContaining("permits:{user}");
        }
    }

    @Test
    void anOperatorCountsNoNameThatIsInUseAsALock() throws Exception {
        LockName name = LockName.exactly("pool");
        try (LockClient locks = connect();
                Lease lease = locks.named(name).acquire()) {
            assertThatThrownBy(() -> locks.admin().changePermits(name, 3, 0))
                    .isInstanceOf(LockStoreException.class)
                    .hasMessageContaining("exclusive lock");
            assertThat(locks.admin().permits(name)).isEmpty();
            assertThat(lease.isValid()).isTrue();
        }
    }

    private static void rules(String rules) {
        List<String> command = new ArrayList<>(List.of("ACL", "SETUSER", "worker"));
        command.addAll(List.of(rules.split(" ", -1)));
        SERVER.server().call(command.toArray(String[]::new));
    }

    private static String user() {
        return "redis://worker:secret@127.0.0.1:" + SERVER.server().port();
    }

    /** Runs the request without a right, and again with the rule that the refusal names. */
    private static void refusedThenGranted(String revoked, String verb, Runnable request) {
        rules(revoked);
        Throwable refused = catchThrowable(request::run);
        Throwable access = refused;
        while (access != null && !(access instanceof StoreAccessException)) {
            access = access.getCause();
        }
        assertThat(access).as("%s: %s", revoked, refused).isNotNull();
        String message = String.valueOf(access.getMessage());
        assertThat(message).contains("denies permission to " + verb);
        Matcher grant = GRANT.matcher(message);
        assertThat(grant.find()).as(message).isTrue();
        rules(grant.group(1));
        request.run();
    }

    @Test
    void theRuleThatARefusalNamesSuffices() throws Exception {
        rules("reset on >secret +@all &* ~lock:* ~permits:*");
        try (LockClient locks = Leasehold.connect(user());
                Permit permit = locks.permits("pool", 3).acquire();
                Lease lease = locks.named("lock").acquire()) {
            refusedThenGranted("resetkeys ~lock:*", "renew permits \"pool\"", permit::renew);
            refusedThenGranted("-hgetall", "renew permits \"pool\"", permit::renew);
            refusedThenGranted("resetkeys ~permits:*", "renew lock \"lock\"", lease::renew);
            rules("~lock:* ~permits:*");
            for (String keys : List.of("resetkeys ~permits:*", "resetkeys ~lock:*")) {
                refusedThenGranted(keys, "acquire permits \"pool\"", () -> {
                    Permit another = locks.permits("pool", 3)
                            .attemptAsync(Duration.ZERO)
                            .join()
                            .orElseThrow();
                    another.close();
                });
                rules("~lock:* ~permits:*");
            }
        }
    }

    @Test
    void theWholeListOfRightsSuffices() throws Exception {
        rules("reset on >secret +@all &* ~lock:*");
        String all;
        try (LockClient locks = Leasehold.connect(user())) {
            Throwable refused = catchThrowable(() -> locks.permits("pool", 2).acquire());
            assertThat(refused).isInstanceOf(StoreAccessException.class);
            String message = String.valueOf(refused.getMessage());
            all = message.substring(message.indexOf(ALL) + ALL.length());
        }
        rules("reset on >secret " + all);
        try (LockClient locks = Leasehold.connect(user());
                Permit permit = locks.permits("pool", 2).acquire();
                Permit other = locks.permits("pool", 2).acquire()) {
            permit.renew();
            assertThat(locks.admin().listPermits("*", 10)).hasSize(1);
            assertThat(locks.admin().changePermits(LockName.exactly("pool"), 1, 2))
                    .isTrue();
            assertThat(locks.admin().forceReleasePermit(LockName.exactly("pool"), other.slot(), null))
                    .isTrue();
        }
    }
}
