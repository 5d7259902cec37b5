package io.leasehold.cli.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The command is prepared while its caller connects, and is closed on every way out. */
@Tag("quick")
@Timeout(60)
final class PreparationTest {

    private static final CommandLookup LOOKUP = new CommandLookup(System.getenv("PATH"));

    @Test
    void aCommandThatNoCallerAskedForIsClosed() throws Exception {
        Preparation.begin(settings(Containment.CGROUP), LOOKUP).close();

        assertThatNoGuardianIsLeft();
    }

    @Test
    void anInterruptedCallerClosesItToo() throws Exception {
        Preparation preparation = Preparation.begin(settings(Containment.CGROUP), LOOKUP);
        Thread.currentThread().interrupt();
        assertThatThrownBy(preparation::await).isInstanceOf(InterruptedException.class);
        Thread.currentThread().interrupt();
        preparation.close();

        assertThat(Thread.interrupted()).as("stays interrupted").isTrue();
        assertThatNoGuardianIsLeft();
    }

    @Test
    void theCommandIsOneForAllThatAsk() throws Exception {
        try (Preparation preparation = Preparation.begin(settings(Containment.REMEMBERED), LOOKUP)) {
            GuardedCommand command = preparation.await();
            assertThat(preparation.await()).isSameAs(command);
            assertThat(command.containment()).isEqualTo(Containment.REMEMBERED);
        }
        assertThatNoGuardianIsLeft();
    }

    private static GuardedCommand.Settings settings(Containment strongest) {
        return new GuardedCommand.Settings(
                TypedWords.ofTexts(List.of("/bin/true")),
                OnLost.TERM,
                Duration.ofSeconds(1),
                Duration.ofSeconds(10),
                strongest);
    }

    private static void assertThatNoGuardianIsLeft() throws InterruptedException {
        for (ProcessHandle guardian : GuardedCommandTest.ours("leasehold-guardian")) {
            guardian.onExit().join();
        }
        assertThat(GuardedCommandTest.ours("leasehold-guardian")).isEmpty();
    }
}
