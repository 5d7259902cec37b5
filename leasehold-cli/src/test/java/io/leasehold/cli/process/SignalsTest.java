package io.leasehold.cli.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that the processes that a signal does not reach are reported. */
@Tag("quick")
class SignalsTest {

    private final Signals signals = new Signals();

    @Test
    void namesTheTargetsThatAreNotThere() throws Exception {
        Process sleeper = new ProcessBuilder("sleep", "300").start();
        try {
            Process gone = new ProcessBuilder("true").start();
            gone.waitFor();
            assertThat(signals.send("TERM", List.of(gone.pid(), sleeper.pid()))).containsExactly(gone.pid());
            assertThat(sleeper.waitFor(1, TimeUnit.MINUTES)).isTrue();
            assertThat(sleeper.exitValue()).isEqualTo(128 + 15);
        } finally {
            sleeper.destroyForcibly();
        }
        assertThat(signals.send("TERM", List.of())).isEmpty();
    }

    @Test
    void namesTheTargetsOfAnotherUser() throws Exception {
        assumeFalse("root".equals(System.getProperty("user.name")), "root may signal every process");
        assertThat(signals.send(Signals.NONE, List.of(1L))).containsExactly(1L);
    }

    @Test
    void aLineSaysWhoDidNotGetTheSignal() {
        assertThat(GuardedCommand.cannotSignal("TERM", List.of(12L)))
                .isEqualTo("SIGTERM could not be sent to process 12, which runs as another user");
        assertThat(GuardedCommand.cannotSignal("INT", List.of(12L, 13L)))
                .isEqualTo("SIGINT could not be sent to process 12, 13, which run as another user");
    }
}
