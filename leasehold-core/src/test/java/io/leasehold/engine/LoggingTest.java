package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Success is quiet; a loss that nothing noticed and a deed of an operator are logged once, with key-values. */
@Tag("quick")
class LoggingTest {

    private interface Work {
        void with(LockClient locks) throws InterruptedException;
    }

    private static String logged(Work work) throws InterruptedException {
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        try (LockClient locks = Leasehold.connect("memory:")) {
            work.with(locks);
        } finally {
            System.setErr(before);
        }
        return log.toString(StandardCharsets.UTF_8);
    }

    @Test
    void successIsQuiet() throws InterruptedException {
        assertThat(logged(locks -> {
                    for (int i = 0; i < 10; i++) {
                        try (Lease lease = locks.named("quiet").acquire()) {
                            lease.renew();
                            assertThat(locks.named("quiet").tryAcquire(Duration.ZERO))
                                    .isNull();
                        }
                    }
                }))
                .doesNotContain("quiet");
    }

    @Test
    void aLossThatNothingNoticedIsLoggedOnceWithKeyValues() throws InterruptedException {
        String log = logged(locks -> {
            try (Lease lease = locks.named("lost unheard").acquire()) {
                locks.admin().forceRelease(LockName.exactly("lost unheard"), null);
                assertThat(lease.fencingToken()).isPositive();
            }
        });
        assertThat(log.lines().filter(line -> line.contains("ERROR")))
                .singleElement()
                .asString()
                .contains("lock=lost unheard", "fencingToken=", "cause=FORCE_RELEASED", "store=memory:");
        assertThat(log.lines().filter(line -> line.contains("io.leasehold.audit")))
                .singleElement()
                .asString()
                .contains("action=force-release", "removed=true", "by=");
    }
}
