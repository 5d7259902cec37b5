package io.leasehold.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.LeaseTicket;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.cli.ExitCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of the texts about a ticket whose request to resume has no answer. */
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
}
