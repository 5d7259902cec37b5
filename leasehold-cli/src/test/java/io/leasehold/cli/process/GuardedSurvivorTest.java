package io.leasehold.cli.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests of a command with a process that no signal ends: another process traces one of its threads, and does not collect
 * it. Each test takes more than the ten seconds after which a process counts as one that cannot be killed.
 */
@Timeout(60)
@Tag("full")
class GuardedSurvivorTest {

    private static final Duration GRACE = Duration.ofMillis(100);
    private static final Duration TTL = Duration.ofSeconds(6);

    private static final String SURVIVOR = """
            import ctypes, os, sys, threading, time
            libc = ctypes.CDLL(None)
            libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
            libc.prctl(0x59616d61, 2**64 - 1, 0, 0, 0) # any process may trace it
            def work():
                with open("draft", "w") as file:
                    file.write(str(threading.get_native_id()))
                os.rename("draft", "thread")
                time.sleep(300)
            threading.Thread(target=work).start()
            """;

    private static final String TRACER = """
            import ctypes, sys, time
            libc = ctypes.CDLL(None)
            libc.ptrace.argtypes = [ctypes.c_long] * 4
            if libc.ptrace(0x4206, int(open("thread").read()), 0, 0) != 0:
                sys.exit(1)
            open("traced", "w").close()
            time.sleep(300)
            """;

    @TempDir
    private Path directory;

    private final List<String> complaints = Collections.synchronizedList(new ArrayList<>());
    private final AtomicLong endsAtNanos = new AtomicLong(System.nanoTime() + TimeUnit.HOURS.toNanos(1));
    private Process tracer;

    @BeforeEach
    void needsPython() {
        assumeTrue(
                Files.isReadable(Path.of("/proc/self/stat"))
                        && new CommandLookup(System.getenv("PATH")).find("python3")
                                instanceof CommandLookup.Result.Found,
                "python3, which can trace a thread, is not here: apt-get install python3");
    }

    @AfterEach
    void letItEnd() {
        if (tracer != null) {
            tracer.destroyForcibly();
        }
    }

    /** A command that runs until there is the file {@code go}, and leaves the survivor. */
    private GuardedCommand prepared() throws IOException {
        Files.writeString(directory.resolve("survivor.py"), SURVIVOR);
        String script = "cd '" + directory + "'; python3 survivor.py & until [ -e go ]; do sleep 0.02; done";
        GuardedCommand.Settings settings = new GuardedCommand.Settings(
                TypedWords.ofTexts(List.of("/bin/sh", "-c", script)), OnLost.TERM, GRACE, TTL, Containment.REMEMBERED);
        return GuardedCommand.prepare(settings, new CommandLookup(System.getenv("PATH")));
    }

    private void trace() throws IOException, InterruptedException {
        await("thread");
        Files.writeString(directory.resolve("tracer.py"), TRACER);
        tracer = new ProcessBuilder("python3", "tracer.py")
                .directory(directory.toFile())
                .start();
        while (!Files.exists(directory.resolve("traced"))) {
            assumeTrue(tracer.isAlive(), "python3 cannot trace a thread here: it needs ctypes and ptrace");
            Thread.sleep(5);
        }
    }

    private void await(String file) throws InterruptedException {
        while (!Files.exists(directory.resolve(file))) {
            Thread.sleep(5);
        }
    }

    private void complainedOnce() {
        assertThat(complaints).singleElement().asString().startsWith("cannot kill what the command started: process ");
    }

    /** The lease that was lost is renewed after all, and ends when the command has been looked at several times. */
    @Test
    void complainsOnceOfWhatOutlivesTheLease() throws Exception {
        try (GuardedCommand command = prepared()) {
            command.complainTo(complaints::add);
            AtomicInteger looks = new AtomicInteger();
            command.start(Map.of(), () -> {
                boolean isOver = !complaints.isEmpty() && looks.incrementAndGet() > 3;
                return isOver ? 0 : endsAtNanos.get() - System.nanoTime();
            });
            trace();
            CompletableFuture<Void> renewed = onlyCommand()
                    .onExit()
                    .thenRun(() -> endsAtNanos.set(System.nanoTime() + TimeUnit.HOURS.toNanos(1)));
            endsAtNanos.set(System.nanoTime());
            command.check();

            GuardedCommand.Ended ended = command.await();
            renewed.join();

            assertThat(ended.endedForLease()).isTrue();
            assertThat(ended.survivors()).hasSize(1);
            complainedOnce();
        }
    }

    @Test
    void complainsOnceOfWhatIsLeftBehind() throws Exception {
        CountDownLatch complained = new CountDownLatch(1);
        try (GuardedCommand command = prepared()) {
            command.complainTo(line -> {
                complaints.add(line);
                complained.countDown();
            });
            command.start(Map.of(), () -> endsAtNanos.get() - System.nanoTime());
            trace();
            Thread ending = new Thread(() -> {
                try {
                    complained.await();
                    Thread.sleep(500); // several looks
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
                tracer.destroyForcibly();
            });
            ending.start();
            Files.createFile(directory.resolve("go"));

            GuardedCommand.Ended ended = command.await();
            ending.join();

            assertThat(ended.endedForLease()).isFalse();
            assertThat(ended.leftBehind()).isEqualTo(1);
            complainedOnce();
        }
    }

    private static ProcessHandle onlyCommand() {
        return ProcessHandle.current()
                .descendants()
                .filter(process -> process.info().commandLine().orElse("").contains("survivor.py & until"))
                .findFirst()
                .orElseThrow();
    }
}
