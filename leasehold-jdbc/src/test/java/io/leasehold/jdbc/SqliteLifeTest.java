package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.testkit.process.ChildJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Proof of life: the locks of a dead process are free at once, and those of a living one are not. */
@Timeout(180)
@Tag("full")
class SqliteLifeTest {

    private static final Duration PATIENCE = Duration.ofMinutes(1);

    /** No test waits for the end of such a lease. */
    private static final Duration LONG_TTL = Duration.ofHours(1);

    @TempDir
    private Path directory;

    /** Holds three locks by two stores, and does nothing more. */
    static final class HolderProcess {
        private HolderProcess() {}

        public static void main(String[] args) throws Exception {
            try (LeaseClient one = open(Path.of(args[0]));
                    LeaseClient two = open(Path.of(args[0]))) {
                if (args.length > 1 && args[1].equals("children")) {
                    System.out.println(
                            "life " + one.store.operations().coverChildren().orElseThrow());
                }
                hold(one, "a");
                hold(two, "b");
                if (args.length > 1 && args[1].equals("close one")) {
                    // A store that ends must not end the life of another one of the same process.
                    two.close();
                }
                System.out.println("holding");
                System.in.read();
            }
        }
    }

    private static LeaseClient open(Path file) {
        return LeaseClient.open(runtime -> SqliteStore.open(file, runtime));
    }

    private static OwnerToken hold(LeaseClient client, String name) {
        OwnerToken owner = client.owner();
        assertThat(client.acquire(request(name, owner))).isInstanceOf(AcquireReply.Granted.class);
        return owner;
    }

    private static AcquireRequest request(String name, OwnerToken owner) {
        return AcquireRequest.exclusive(
                List.of(io.leasehold.LockName.exactly(name)),
                owner,
                "test",
                LONG_TTL.toNanos(),
                LeaseClient.LIMIT.toNanos());
    }

    private Path file() {
        return directory.resolve("locks.db");
    }

    private List<Path> lives() throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(path -> path.getFileName().toString().contains("-life-"))
                    .toList();
        }
    }

    private ChildJvm holder(String... more) throws InterruptedException {
        ChildJvm child = ChildJvm.of(HolderProcess.class)
                .arguments(Stream.concat(Stream.of(file().toString()), Stream.of(more))
                        .toArray(String[]::new))
                .start();
        child.awaitLine("holding", PATIENCE);
        return child;
    }

    @Test
    void aKilledProcessIsTakenOverFromAtOnce() throws Exception {
        try (LeaseClient client = open(file());
                ChildJvm child = holder()) {
            assertThat(client.acquire("a", client.owner())).isInstanceOf(AcquireReply.Busy.class);
            assertThat(client.acquire("b", client.owner())).isInstanceOf(AcquireReply.Busy.class);
            child.kill();
            assertThat(client.acquire("a", client.owner()))
                    .as("the first who asks has it")
                    .isInstanceOf(AcquireReply.Granted.class);
            assertThat(client.acquire("b", client.owner())).isInstanceOf(AcquireReply.Granted.class);
        }
    }

    /** A command that ends a moment after the process that ran it. */
    @Test
    void whatChildrenUseIsTakenOverAtOnceWhenTheyHaveEndedToo() throws Exception {
        try (LeaseClient client = open(file());
                ChildJvm child = ChildJvm.of(HolderProcess.class)
                        .arguments(file().toString(), "children")
                        .start()) {
            Path life = Path.of(child.awaitLine("life ", PATIENCE).substring("life ".length()));
            child.awaitLine("holding", PATIENCE);
            child.kill();
            for (int i = 0; i < 50; i++) {
                assertThat(client.acquire("a", client.owner())).isInstanceOf(AcquireReply.Busy.class);
                assertThat(lives()).contains(life);
            }
            assertThat(client.acquire("b", client.owner()))
                    .as("the other store of that process has no children")
                    .isInstanceOf(AcquireReply.Granted.class);
            Files.writeString(life, "e", StandardOpenOption.APPEND);
            assertThat(client.acquire("a", client.owner())).isInstanceOf(AcquireReply.Granted.class);
        }
    }

    @Test
    void aWaiterIsWokenByTheDeathOfTheHolder() throws Exception {
        try (LockClient client = Leasehold.builder()
                        .store("sqlite:" + file())
                        .defaults(LockOptions.defaults().recheck(Duration.ofMinutes(30)))
                        .connect();
                ChildJvm child = holder()) {
            CompletableFuture<Lease> waiting = client.named("a").acquireAsync();
            assertThat(client.named("b").tryAcquire(Duration.ofMillis(300))).isNull();
            assertThat(waiting).isNotDone();
            child.kill();
            try (Lease lease = waiting.get(60, java.util.concurrent.TimeUnit.SECONDS)) {
                assertThat(lease.isValid()).isTrue();
            }
        }
    }

    @Test
    void aStoppedProcessIsAlive() throws Exception {
        try (LeaseClient client = open(file());
                ChildJvm child = holder()) {
            child.freeze();
            long startAtNanos = System.nanoTime();
            while (System.nanoTime() - startAtNanos < 500_000_000L) {
                assertThat(client.acquire("a", client.owner())).isInstanceOf(AcquireReply.Busy.class);
            }
            child.thaw();
        }
    }

    /** Closing a descriptor releases POSIX locks; that must not happen to a store when its neighbour is closed. */
    @Test
    void aStoreThatIsClosedLeavesTheOthersOfItsProcessAlive() throws Exception {
        try (LeaseClient client = open(file());
                ChildJvm child = holder("close one")) {
            assertThat(client.acquire("a", client.owner())).isInstanceOf(AcquireReply.Busy.class);
            // The closed store does not report its end: its holds end with their ttl.
            assertThat(client.acquire("b", client.owner())).isInstanceOf(AcquireReply.Busy.class);
            child.kill();
            client.granted("a", client.owner());
            assertThat(client.acquire("b", client.owner())).isInstanceOf(AcquireReply.Busy.class);
        }
    }

    @Test
    void storesOfOneProcessNeverTakeEachOtherForDead() throws Exception {
        try (LeaseClient one = open(file());
                LeaseClient two = open(file());
                LeaseClient three = open(file())) {
            hold(one, "x");
            for (int i = 0; i < 50; i++) {
                assertThat(two.acquire("x", two.owner())).isInstanceOf(AcquireReply.Busy.class);
                open(file()).close();
            }
            try (ChildJvm other = holder()) {
                // Another process checks, and sees that this one lives.
                assertThat(other.isAlive()).isTrue();
                assertThat(three.acquire("x", three.owner())).isInstanceOf(AcquireReply.Busy.class);
            }
        }
    }

    @Test
    void aLifeThatWasDeletedSaysNothing() throws Exception {
        try (LeaseClient client = open(file());
                ChildJvm child = holder()) {
            for (Path life : lives()) {
                Files.delete(life);
            }
            child.kill();
            assertThat(client.acquire("a", client.owner())).isInstanceOf(AcquireReply.Busy.class);
        }
    }

    @Test
    void livesAreSweptWhenNothingIsHeldByThem() throws Exception {
        try (LeaseClient client = open(file())) {
            assertThat(lives()).hasSize(1);
            try (ChildJvm child = holder()) {
                child.kill();
            }
            assertThat(lives()).hasSize(3);
            open(file()).close();
            client.release("a", client.granted("a", client.owner()).grant().owner());
            client.release("b", client.granted("b", client.owner()).grant().owner());
            try (LeaseClient sweeping = open(file())) {
                sweeping.granted("c", sweeping.owner());
                assertThat(lives()).as("the two that are open").hasSize(2);
            }
        }
        assertThat(lives()).isEmpty();
    }

    /** A noted waiter that is dead costs its claim once, and not again at each check. */
    @Test
    void aDeadHolderWithADeadWaiterIsTakenOverFrom() throws Exception {
        try (LeaseClient client = open(file());
                ChildJvm child = holder()) {
            OwnerToken gone = client.owner();
            client.acquire(request("a", gone).waiting(LONG_TTL.toNanos()));
            child.kill();
            OwnerToken owner = client.owner();
            long startAtNanos = System.nanoTime();
            while (!(client.acquire(request("a", owner)) instanceof AcquireReply.Granted)) {
                assertThat(System.nanoTime() - startAtNanos).isLessThan(PATIENCE.toNanos());
            }
        }
    }

    @Test
    void rightsAreThoseOfTheDatabase() throws Exception {
        try (LeaseClient client = open(file())) {
            client.granted("x", client.owner());
            assertThat(Files.getPosixFilePermissions(lives().get(0))).isEqualTo(Files.getPosixFilePermissions(file()));
            assertThat(lives().get(0).getFileName().toString())
                    .contains("-life-" + ProcessHandle.current().pid() + "-");
        }
    }
}
