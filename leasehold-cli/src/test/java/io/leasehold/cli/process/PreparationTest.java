package io.leasehold.cli.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The command is prepared while its caller connects, and is closed on every way out. */
@Tag("quick")
@Timeout(60)
final class PreparationTest {

    private static final CommandLookup LOOKUP = new CommandLookup(System.getenv("PATH"));

    @Test
    void aCommandThatNoCallerAskedForIsClosed() throws Exception {
        Preparation.begin(settings(Containment.CGROUP), LOOKUP).close();

        assertThatNothingIsLeft();
    }

    @Test
    void anInterruptedCallerClosesItToo() throws Exception {
        Preparation preparation = Preparation.begin(settings(Containment.CGROUP), LOOKUP);
        Thread.currentThread().interrupt();
        assertThatThrownBy(preparation::await).isInstanceOf(InterruptedException.class);
        Thread.currentThread().interrupt();
        preparation.close();

        assertThat(Thread.interrupted()).as("stays interrupted").isTrue();
        assertThatNothingIsLeft();
    }

    @Test
    void theCommandIsOneForAllThatAsk() throws Exception {
        try (Preparation preparation = Preparation.begin(settings(Containment.REMEMBERED), LOOKUP)) {
            GuardedCommand command = preparation.await();
            assertThat(preparation.await()).isSameAs(command);
            assertThat(command.containment()).isEqualTo(Containment.REMEMBERED);
        }
        assertThatNothingIsLeft();
    }

    /** The kernel does not find an interpreter that is named without its folder, and the lookup does not check it. */
    @Test
    void aGuardianThatCannotStartLeavesNothing(@TempDir Path path) throws Exception {
        Path setsid = path.resolve("setsid");
        Files.writeString(setsid, "#!no-such-interpreter\n");
        assertThat(setsid.toFile().setExecutable(true)).isTrue();
        try (Preparation preparation =
                Preparation.begin(settings(Containment.CGROUP), new CommandLookup(path.toString()))) {
            assertThatThrownBy(preparation::await)
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("setsid");
        }
        assertThatNothingIsLeft();
    }

    private static GuardedCommand.Settings settings(Containment strongest) {
        return new GuardedCommand.Settings(
                TypedWords.ofTexts(List.of("/bin/true")),
                OnLost.TERM,
                Duration.ofSeconds(1),
                Duration.ofSeconds(10),
                strongest);
    }

    private static void assertThatNothingIsLeft() throws Exception {
        for (ProcessHandle guardian : GuardedCommandTest.ours("leasehold-guardian")) {
            guardian.onExit().get(20, TimeUnit.SECONDS);
        }
        assertThat(GuardedCommandTest.ours("leasehold-guardian")).isEmpty();
        assertThat(groups()).as("control groups of this process").isEmpty();
    }

    /** The control groups that this process made, in all hierarchies that are mounted. */
    static String groups() throws IOException {
        String name = ControlGroup.PREFIX + ProcessHandle.current().pid() + "-*";
        Process find = new ProcessBuilder("find", "/sys/fs/cgroup", "-type", "d", "-name", name)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        return new String(find.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
}
