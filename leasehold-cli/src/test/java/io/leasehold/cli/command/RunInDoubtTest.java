package io.leasehold.cli.command;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.output.Json;
import io.leasehold.cli.output.Terminal;
import io.leasehold.cli.process.CommandLookup;
import io.leasehold.cli.process.Containment;
import io.leasehold.cli.process.ForwardedSignal;
import io.leasehold.cli.process.GuardedCommand;
import io.leasehold.cli.process.OnLost;
import io.leasehold.cli.process.SignalForwarder;
import io.leasehold.cli.process.TestCommands;
import io.leasehold.cli.process.TestSignals;
import io.leasehold.cli.process.TypedWords;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.memory.InMemoryStoreProvider;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.PassingStore;
import io.leasehold.testkit.virtual.SteppedWallClock;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests of a run whose lease is in doubt, since its wall clock was set forward, and of one whose command cannot be
 * started after a signal.
 */
@Timeout(60)
@Tag("quick")
class RunInDoubtTest {

    /** Long, so that no renewal is due, and the run looks at its lease only when the test lets it. */
    private static final LockOptions OPTIONS =
            LockOptions.defaults().ttl(Duration.ofMinutes(2)).nodeTimeout(Duration.ofSeconds(1));

    @TempDir
    private Path directory;

    private final SteppedWallClock clock = new SteppedWallClock(new SystemLockRuntime());
    private final CompletableFuture<Void> renewalSent = new CompletableFuture<>();
    private final CompletableFuture<Void> mayAnswer = new CompletableFuture<>();
    private final SignalForwarder signals = TestSignals.forwarder();
    private final RunReport report = new RunReport("job");
    private boolean stepsDuringTheGrant;
    private boolean losesTheLock;
    private volatile boolean isOver;

    @BeforeEach
    void needsAClockThatCountsASuspension() {
        assumeTrue(Files.isReadable(Path.of("/proc/uptime")), "without /proc/uptime, a step counts as a suspension");
    }

    private LockStore store(LockRuntime runtime) {
        return new PassingStore(new InMemoryStoreProvider().open(StoreUri.parse("memory:"), runtime)) {
            @Override
            public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
                if (stepsDuringTheGrant) {
                    clock.step(Duration.ofHours(1));
                }
                return super.acquire(request);
            }

            @Override
            public CompletableFuture<RenewReply> renew(RenewBatch batch) {
                renewalSent.complete(null);
                if (losesTheLock) {
                    return CompletableFuture.completedFuture(
                            new RenewReply(Collections.nCopies(batch.items().size(), new RenewReply.NotOurs())));
                }
                return mayAnswer.thenCompose(now -> super.renew(batch));
            }
        };
    }

    private LockClient client() {
        return Leasehold.builder()
                .runtime(clock)
                .store(this::store)
                .defaults(OPTIONS)
                .connect();
    }

    private LockedRun.Request request(Duration atLeast, List<String> command) {
        return request(atLeast, Duration.ofMillis(100), command);
    }

    private LockedRun.Request request(Duration atLeast, Duration grace, List<String> command) {
        return new LockedRun.Request(
                "memory:",
                LockName.exactly("job"),
                0,
                OPTIONS,
                null,
                new GuardedCommand.Settings(
                        TypedWords.ofTexts(command), OnLost.TERM, grace, OPTIONS.ttl(), Containment.REMEMBERED),
                75,
                false,
                atLeast,
                new RunTickets.Options(null, null, null),
                null,
                false,
                false);
    }

    /** An action on a command that is prepared, on a thread of its own. */
    private interface Meanwhile {
        void act(GuardedCommand command) throws IOException, InterruptedException;
    }

    private void run(LockClient locks, LockedRun.Request request, Meanwhile meanwhile) throws Exception {
        run(locks, request, false, meanwhile);
    }

    private void run(LockClient locks, LockedRun.Request request, boolean atTerminal, Meanwhile meanwhile)
            throws Exception {
        PrintStream nowhere = new PrintStream(new ByteArrayOutputStream(), true, StandardCharsets.UTF_8);
        Invocation invocation = new Invocation(
                new Terminal(nowhere, nowhere), Map.of("PATH", System.getenv().getOrDefault("PATH", "/usr/bin:/bin")));
        CommandLookup lookup = new CommandLookup(invocation.environment().get("PATH"));
        try (GuardedCommand command = TestCommands.prepare(request.command(), atTerminal, lookup)) {
            isOver = false;
            CompletableFuture<Void> acted = CompletableFuture.runAsync(() -> {
                try {
                    meanwhile.act(command);
                } catch (IOException | InterruptedException e) {
                    throw new AssertionError(e);
                }
            });
            new LockedRun(request, invocation, report, note -> {}, complaint -> {}, signals)
                    .runUnderLock(locks, RunTickets.open(request.tickets(), request.lock()), command, lookup);
            isOver = true;
            acted.get();
        }
    }

    private String script(String lines) {
        return "cd '" + directory + "'\n" + lines;
    }

    /** The renewal that decides is answered only when the command is about to end. */
    @Test
    void aStepOfTheWallClockEndsNoCommand() throws Exception {
        Duration atLeast = Duration.ofSeconds(2);
        String waits = script("echo >runs\nuntil [ -e go ]; do sleep 0.02; done\nexit 3");
        try (LockClient locks = client()) {
            run(locks, request(atLeast, List.of("/bin/sh", "-c", waits)), command -> {
                while (!Files.exists(directory.resolve("runs"))) {
                    Thread.sleep(5);
                }
                clock.step(Duration.ofHours(1));
                command.tellDeadline();
                command.check();
                renewalSent.join();
                // For the guardian and the watch, which would kill now.
                Thread.sleep(500);
                mayAnswer.complete(null);
                Files.createFile(directory.resolve("go"));
            });
        }
        assertThat(report.reason()).isNull();
        assertThat(report.exitCode()).isEqualTo(3);
        assertThat(report.json()).containsEntry("outcome", new Json.Word("completed"));
        assertThat((Long) report.json().get("heldMs")).as("--at-least").isGreaterThanOrEqualTo(atLeast.toMillis());
    }

    /** The lease has no known end, so the command waits for the renewal that decides. */
    @Test
    void aStepDuringTheGrantDelaysTheCommandUntilTheLeaseIsConfirmed() throws Exception {
        stepsDuringTheGrant = true;
        try (LockClient locks = client()) {
            run(locks, request(Duration.ZERO, List.of("/bin/sh", "-c", script("echo >runs\nexit 3"))), command -> {
                renewalSent.join();
                Thread.sleep(300);
                assertThat(directory.resolve("runs")).doesNotExist();
                mayAnswer.complete(null);
            });
        }
        assertThat(report.reason()).isNull();
        assertThat(report.exitCode()).isEqualTo(3);
    }

    /** The renewal that decides has found the loss, and a callback may report the end later. */
    @Test
    void aLossThatTheRenewalHasJustFoundIsNamed() throws Exception {
        stepsDuringTheGrant = true;
        losesTheLock = true;
        try (LockClient locks = client()) {
            run(locks, request(Duration.ZERO, List.of("/bin/true")), command -> {});
        }
        assertThat(report.exitCode()).isEqualTo(76);
        assertThat(report.reason()).isEqualTo("lease on \"job\" was lost (NOT_OURS) before the command was started");
        assertThat(report.json()).containsEntry("lossCause", LossCause.NOT_OURS);
    }

    /** The command has received TERM for want of time; then the renewal that decides finds the loss. */
    @Test
    void aLossThatIsFoundAfterTheCommandWasEndedIsNamed() throws Exception {
        losesTheLock = true;
        String waits = script("trap 'echo >term' TERM\nuntil [ -e go ]; do sleep 0.02; done\nexit 3");
        Path term = directory.resolve("term");
        // A shell that receives TERM before it has set its trap ends: again, then.
        while (!Files.exists(term)) {
            try (LockClient locks = client()) {
                run(locks, request(Duration.ZERO, OPTIONS.ttl(), List.of("/bin/sh", "-c", waits)), command -> {
                    while (!Files.exists(term) && !isOver) {
                        Thread.sleep(5);
                    }
                    if (Files.exists(term)) {
                        clock.step(Duration.ofHours(1));
                        Files.createFile(directory.resolve("go"));
                    }
                });
            }
        }
        assertThat(report.exitCode()).isEqualTo(76);
        assertThat(report.reason()).startsWith("lease on \"job\" was lost (NOT_OURS) while the command ran");
        assertThat(report.json()).containsEntry("lossCause", LossCause.NOT_OURS);
    }

    /** The keyboard's Ctrl-C also ends the helper by which a JVM starts programs; here, the program has gone. */
    @Test
    void aSignalBeforeAStartThatFailsIsItsCause() throws Exception {
        mayAnswer.complete(null);
        Path program = Files.writeString(directory.resolve("program"), "#!/bin/sh\n");
        assertThat(program.toFile().setExecutable(true)).isTrue();
        try (LockClient locks = client()) {
            AtomicInteger asked = new AtomicInteger();
            // The run asks for the id when it has the lock, and again just before the start.
            LockClient signalling = (LockClient) Proxy.newProxyInstance(
                    RunInDoubtTest.class.getClassLoader(),
                    new Class<?>[] {LockClient.class},
                    (proxy, method, arguments) -> {
                        if (method.getName().equals("holderId") && asked.incrementAndGet() == 2) {
                            Files.delete(program);
                            TestSignals.receive(signals, ForwardedSignal.INT);
                        }
                        try {
                            return method.invoke(locks, arguments);
                        } catch (InvocationTargetException e) {
                            throw e.getCause();
                        }
                    });
            run(signalling, request(Duration.ZERO, List.of(program.toString())), true, command -> {});
        }
        assertThat(report.exitCode()).isEqualTo(130);
        assertThat(report.reason()).contains("SIGINT", "the command was not run and nothing is held");
        assertThat(report.json()).containsEntry("outcome", new Json.Word("signalled"));
    }
}
