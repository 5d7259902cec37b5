package io.leasehold.verify.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LeaseTicket;
import io.leasehold.LockName;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests what is found in the tickets of a run. */
@Tag("quick")
final class TicketFilesTest {

    private static final TicketFiles.TokensBetween NONE = (lock, above, below) -> List.of();

    @TempDir
    private Path directory;

    private TicketFiles.Issued issued(TicketFiles tickets) {
        tickets.issued(
                LeaseTicket.of(LockName.of("once-a/1"), "0".repeat(40), Duration.ofSeconds(1), "redis"),
                7,
                "client-1.1/2");
        SplittableRandom random = new SplittableRandom(1);
        TicketFiles.Issued found = null;
        while (found == null) {
            found = tickets.any("once-a/1", random);
        }
        return found;
    }

    @Test
    void aTicketIsFoundUnderItsLock() {
        TicketFiles tickets = new TicketFiles(directory);
        TicketFiles.Issued found = issued(tickets);
        assertThat(found.token()).isEqualTo(7);
        assertThat(found.ticket().claim()).isEqualTo(Duration.ofSeconds(1));
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 20; i++) {
            assertThat(tickets.any("once-b/2", random)).isNull();
        }
    }

    @Test
    void oneUseIsFine() {
        TicketFiles tickets = new TicketFiles(directory);
        tickets.resumed(issued(tickets), 8, "client-2.1");
        assertThat(tickets.used()).isOne();
        assertThat(tickets.check(NONE)).isEmpty();
    }

    @Test
    void twoUsesASmallerTokenAndALeaseInBetweenAreFound() {
        TicketFiles tickets = new TicketFiles(directory);
        TicketFiles.Issued issued = issued(tickets);
        tickets.resumed(issued, 9, "client-2.1");
        assertThat(tickets.check((lock, above, below) ->
                        lock.equals("once-a/1") && above == 7 && below == 9 ? List.of(8L) : List.of()))
                .hasSize(1);
        tickets.resumed(issued, 7, "client-3.1");
        assertThat(tickets.check(NONE)).hasSize(2);
    }
}
