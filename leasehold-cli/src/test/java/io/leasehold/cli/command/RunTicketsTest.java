package io.leasehold.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Lease;
import io.leasehold.LeaseTicket;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.ReleaseOutcome;
import io.leasehold.StoreUnavailableException;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.process.TestSignals;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of the texts about a ticket whose request to resume has no answer, or fails. */
@Tag("quick")
class RunTicketsTest {

    private static final LockName LOCK = LockName.exactly("job");
    private static final Duration TTL = Duration.ofSeconds(30);

    @TempDir
    private Path directory;

    private RunTickets opened(boolean resuming) throws IOException {
        LeaseTicket ticket = LeaseTicket.of(LOCK, "a".repeat(40), Duration.ofMinutes(2), "memory:");
        Path file = Files.writeString(directory.resolve("ticket"), ticket.text());
        return RunTickets.open(new RunTickets.Options(resuming ? file.toString() : null, null, TTL), LOCK);
    }

    @Test
    void anUnknownResumeSaysWhenTheLockIsFreeAndAdvisesNoRetryWithThisClient() throws IOException {
        StoreUnavailableException cause = new StoreUnavailableException("made by the test", null);
        AmbiguousAcquireException unknown = new AmbiguousAcquireException("retry with the same client", cause);
        assertThat(opened(true).failure(unknown, TTL)).satisfies(failure -> {
            assertThat(failure.code()).isEqualTo(ExitCode.STORE_UNAVAILABLE);
            assertThat(failure.reason())
                    .contains("\"job\"", "free within 30s", "within its claim", "made by the test")
                    .doesNotContain("client");
        });
        assertThat(opened(true).failure(cause, TTL).reason()).isEqualTo("made by the test");
        assertThat(opened(false).failure(unknown, TTL).reason()).isEqualTo("retry with the same client");
    }

    /** A client of this one whose requests to resume fail. */
    private static LockClient withoutResume(LockClient locks) {
        return (LockClient) Proxy.newProxyInstance(
                RunTicketsTest.class.getClassLoader(),
                new Class<?>[] {LockClient.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("resume")) {
                        throw new StoreUnavailableException("made by the test", null);
                    }
                    return method.invoke(locks, arguments);
                });
    }

    /** The ticket is lost, and the lock is kept for it: the next run needs to know for how long. */
    @Test
    void aTicketThatCanNeitherBeWrittenNorResumedSaysWhenTheLockIsFree() throws Exception {
        Path gone = Files.createDirectory(directory.resolve("gone"));
        RunTickets.Options options =
                new RunTickets.Options(null, gone.resolve("ticket").toString(), Duration.ofMinutes(2));
        RunTickets tickets = RunTickets.open(options, LOCK);
        Files.delete(gone);
        RunReport report = new RunReport("job").ended(RunReport.Outcome.COMPLETED, ExitCode.OK.code(), null);
        try (LockClient locks = Leasehold.connect("memory:")) {
            Lease lease = locks.named(LOCK).acquire();
            ReleaseOutcome end =
                    tickets.export(withoutResume(locks), lease, TTL, report, TestSignals.forwarder(), note -> {});
            assertThat(end).isEqualTo(ReleaseOutcome.UNCONFIRMED);
            assertThat(locks.admin().inspect(LOCK.text()))
                    .as("held for the ticket")
                    .isPresent();
        }
        assertThat(report.reason())
                .contains("could not be written", "the lock is free within 2m30s")
                .doesNotContain("was released");
        assertThat(report.exitCode()).isEqualTo(ExitCode.INTERNAL.code());
    }
}
