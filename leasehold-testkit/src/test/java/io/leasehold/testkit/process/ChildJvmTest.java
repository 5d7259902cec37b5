package io.leasehold.testkit.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
@Tag("full")
class ChildJvmTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration SILENCE = Duration.ofMillis(200);

    @BeforeAll
    static void signalsAreSupported() {
        assumeTrue(
                Signal.areSupported(), "child JVMs are stopped and killed by POSIX signals, which this system lacks");
    }

    @Test
    void speaksByLinesAndPassesItsExitCode() throws Exception {
        try (ChildJvm child = ChildJvm.of(Parrot.class)
                .property("greeting", "good day")
                .environment("PARROT", "from the environment")
                .arguments("one", "two words")
                .start()) {
            assertThat(child.awaitLine("hello", PATIENCE)).isEqualTo("hello good day, [one, two words]");
            assertThat(child.awaitLine(line -> line.contains("environment"), PATIENCE))
                    .isEqualTo("PARROT=from the environment");
            child.send("ä line");
            assertThat(child.awaitLine("heard", PATIENCE)).isEqualTo("heard ä line");
            child.closeInput();
            assertThat(child.waitFor(PATIENCE)).isEqualTo(7);
            assertThat(child.errorLines()).containsExactly("leaving");
            assertThat(child.lines()).hasSize(3);
        }
    }

    @Test
    void freezesAndThaws() throws Exception {
        try (ChildJvm child = ChildJvm.of(Parrot.class).start()) {
            child.awaitLine("hello", PATIENCE);
            child.freeze();
            child.send("news");
            assertThatThrownBy(() -> child.awaitLine("heard", SILENCE)).isInstanceOf(ChildFailedException.class);
            assertThat(child.isAlive()).isTrue();
            child.thaw();
            assertThat(child.awaitLine("heard", PATIENCE)).isEqualTo("heard news");
        }
    }

    @Test
    void killsWithoutShutdownHooksAlsoWhenFrozen() throws Exception {
        try (ChildJvm child = ChildJvm.of(Parrot.class).start()) {
            child.awaitLine("hello", PATIENCE);
            child.freeze();
            child.kill();
            assertThat(child.waitFor(PATIENCE)).isEqualTo(128 + 9);
            assertThat(child.lines()).doesNotContain("hook");
        }
    }

    @Test
    void terminatesWithShutdownHooks() throws Exception {
        try (ChildJvm child = ChildJvm.of(Parrot.class).start()) {
            child.awaitLine("hello", PATIENCE);
            child.terminate();
            assertThat(child.waitFor(PATIENCE)).isEqualTo(128 + 15);
            assertThat(child.lines()).contains("hook");
        }
    }

    @Test
    void saysWhyALineNeverCame() throws Exception {
        try (ChildJvm child = ChildJvm.of(Failing.class).start()) {
            assertThatThrownBy(() -> child.awaitLine("ready", PATIENCE))
                    .isInstanceOf(ChildFailedException.class)
                    .hasMessageContaining("'ready…'")
                    .hasMessageContaining("almost")
                    .hasMessageContaining("exit code 1")
                    .hasMessageContaining("out of paint");
            assertThatThrownBy(() -> child.send("hello?")).isInstanceOf(ChildFailedException.class);
        }
    }

    @Test
    void saysWhenTheChildDoesNotEnd() throws Exception {
        try (ChildJvm child = ChildJvm.of(Parrot.class).start()) {
            assertThatThrownBy(() -> child.waitFor(Duration.ofMillis(1)))
                    .isInstanceOf(ChildFailedException.class)
                    .hasMessageContaining("did not end within")
                    .hasMessageContaining("still runs");
        }
    }

    @Test
    void diesWithItsParentWhenThatIsKilledEvenIfFrozen() throws Exception {
        try (ChildJvm parent = ChildJvm.of(Parent.class).start()) {
            long pid = Long.parseLong(parent.awaitLine("child ", PATIENCE).substring("child ".length()));
            ProcessHandle grandchild = ProcessHandle.of(pid).orElseThrow();
            assertThat(grandchild.isAlive()).isTrue();
            parent.kill();
            long startNanos = System.nanoTime();
            while (grandchild.isAlive()) {
                assertThat(System.nanoTime() - startNanos).isLessThan(PATIENCE.toNanos());
                Thread.sleep(2);
            }
        }
    }

    @Test
    void refusesToSignalWhatIsNotThere() throws Exception {
        long gone;
        try (ChildJvm child = ChildJvm.of(Parrot.class).start()) {
            child.kill();
            gone = child.pid();
        }
        assertThatThrownBy(() -> Signal.CONT.sendTo(gone))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("SIGCONT")
                .hasMessageContaining(Long.toString(gone));
    }

    /** Repeats its input and exits with 7 at the end of it. */
    static final class Parrot {
        private Parrot() {}

        public static void main(String[] args) throws IOException {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
            System.out.println("hello " + System.getProperty("greeting") + ", " + List.of(args));
            if (System.getenv("PARROT") != null) {
                System.out.println("PARROT=" + System.getenv("PARROT"));
            }
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                System.out.write(("heard " + line + "\n").getBytes(StandardCharsets.UTF_8));
                System.out.flush();
            }
            System.err.println("leaving");
            Runtime.getRuntime().halt(7);
        }
    }

    /** Ends with an exception. */
    static final class Failing {
        private Failing() {}

        public static void main(String[] args) {
            System.out.println("almost");
            throw new IllegalStateException("out of paint");
        }
    }

    /** Has its own frozen child, started by a thread that has ended. */
    static final class Parent {
        private Parent() {}

        public static void main(String[] args) throws Exception {
            Thread starter = new Thread(() -> {
                ChildJvm child = ChildJvm.of(Parrot.class).start();
                try {
                    child.awaitLine("hello", PATIENCE);
                    child.freeze();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                System.out.println("child " + child.pid());
            });
            starter.start();
            starter.join();
            Thread.sleep(Long.MAX_VALUE);
        }
    }
}
