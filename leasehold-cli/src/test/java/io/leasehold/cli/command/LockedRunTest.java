package io.leasehold.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.StoreUnavailableException;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.output.Terminal;
import io.leasehold.cli.process.Containment;
import io.leasehold.cli.process.ForwardedSignal;
import io.leasehold.cli.process.GuardedCommand;
import io.leasehold.cli.process.OnLost;
import io.leasehold.cli.process.SignalForwarder;
import io.leasehold.cli.process.TestSignals;
import io.leasehold.cli.process.TypedWords;
import io.leasehold.memory.InMemoryStoreProvider;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.StoreProvider;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.PassingStore;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of a run that a signal reaches after the grant and before its command. */
@Tag("quick")
class LockedRunTest {

    private static final String SCHEME = "of-a-test-of-a-run";
    private static final SignalForwarder[] SIGNALLED = new SignalForwarder[1];
    private static boolean confirms;

    @TempDir
    private Path directory;

    private final RunReport report = new RunReport("job");
    private final SignalForwarder signals = TestSignals.forwarder();

    /** A store whose grant comes together with a signal, and which may leave releases without an answer. */
    public static final class Provider implements StoreProvider {

        @Override
        public Set<String> schemes() {
            return Set.of(SCHEME);
        }

        @Override
        public LockStore open(StoreUri uri, LockRuntime runtime) {
            return new PassingStore(new InMemoryStoreProvider().open(StoreUri.parse("memory:"), runtime)) {
                @Override
                public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
                    TestSignals.receiveTooLate(SIGNALLED[0], ForwardedSignal.TERM);
                    return super.acquire(request);
                }

                @Override
                public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
                    return confirms
                            ? super.release(request)
                            : CompletableFuture.completedFuture(new ReleaseReply.Failed(
                                    FailureKind.UNKNOWN, new StoreUnavailableException("made by the test", null)));
                }
            };
        }
    }

    @BeforeEach
    void useTheseSignals() {
        SIGNALLED[0] = signals;
    }

    private void run(Path ticket) throws InterruptedException {
        PrintStream nowhere = new PrintStream(new ByteArrayOutputStream(), true, StandardCharsets.UTF_8);
        Duration ttl = Duration.ofSeconds(3);
        LockedRun.Request request = new LockedRun.Request(
                SCHEME + ":",
                LockName.exactly("job"),
                0,
                LockOptions.defaults().ttl(ttl),
                null,
                new GuardedCommand.Settings(
                        TypedWords.ofTexts(
                                List.of("touch", directory.resolve("ran").toString())),
                        OnLost.TERM,
                        Duration.ofMillis(100),
                        ttl,
                        Containment.REMEMBERED),
                75,
                false,
                Duration.ZERO,
                new RunTickets.Options(null, ticket.toString(), Duration.ofMinutes(1)),
                null,
                false,
                false);
        Invocation invocation =
                new Invocation(new Terminal(nowhere, nowhere), Map.of("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"));
        new LockedRun(request, invocation, report, note -> {}, complaint -> {}, signals).run();
    }

    @Test
    void saysWhenTheLockIsFreeIfTheStoreDoesNotConfirmTheRelease() throws Exception {
        confirms = false;
        Path ticket = Files.writeString(directory.resolve("ticket"), "of an earlier run");
        run(ticket);
        assertThat(report.reason()).contains("SIGTERM", "did not confirm the release; it is free within 3s");
        assertThat(report.reason()).doesNotContain("nothing is held");
        assertThat(report.exitCode()).isEqualTo(143);
        assertThat(Files.exists(directory.resolve("ran"))).isFalse();
        assertThat(ticket).as("the command has not begun").hasContent("of an earlier run");
    }

    @Test
    void saysThatNothingIsHeldIfTheStoreConfirmsTheRelease() throws Exception {
        confirms = true;
        run(directory.resolve("ticket"));
        assertThat(report.reason()).contains("SIGTERM", "nothing is held");
        assertThat(report.exitCode()).isEqualTo(143);
        assertThat(Files.exists(directory.resolve("ran"))).isFalse();
    }
}
