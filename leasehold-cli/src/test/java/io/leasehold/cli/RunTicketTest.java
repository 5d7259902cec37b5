package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LeaseTicket;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of {@code run --export} and {@code run --resume}: jobs that hand a lock over. */
@Tag("full")
class RunTicketTest {

    @TempDir
    private Path directory;

    private StartedCli.Setup cli;
    private Path ticket;

    @BeforeEach
    void useAStoreOfOurOwn() throws IOException {
        cli = new StartedCli.Setup(directory).with("LEASEHOLD_STORE", "sqlite:" + directory.resolve("locks.db"));
        ticket = Files.createDirectory(directory.resolve("tickets")).resolve("ticket");
    }

    private StartedCli exported(String... options) {
        return cli.run(Stream.concat(
                        Stream.of("run", "--export", ticket.toString()),
                        Stream.concat(
                                Stream.of(options),
                                Stream.of("job", "--", "sh", "-c", "echo $LEASEHOLD_FENCING_TOKEN")))
                .toArray(String[]::new));
    }

    private List<String> files() throws IOException {
        try (Stream<Path> all = Files.list(ticket.getParent())) {
            return all.map(path -> path.getFileName().toString()).toList();
        }
    }

    @Test
    void theLockIsKeptForTheTicketAndContinuedOnceWithALargerToken() throws IOException {
        Files.writeString(ticket, "an old ticket");
        StartedCli first = exported();
        assertThat(first.exitCode()).as(first.err()).isZero();
        assertThat(first.errLines()).singleElement().asString().contains("job", "kept for the ticket", "2m");
        assertThat(files()).containsExactly("ticket");
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(ticket)))
                .isEqualTo("rw-------");
        LeaseTicket written = LeaseTicket.parse(Files.readString(ticket));
        assertThat(written.lockName().text()).isEqualTo("job");
        assertThat(first.err() + first.out()).doesNotContain(written.secret()).doesNotContain(written.text());

        assertThat(cli.run("run", "-n", "job", "--", "true").exitCode()).isEqualTo(75);
        Answer who = cli.ask("who", "job");
        assertThat(who.out()).contains("ticket of ", "kept for a ticket").doesNotContain(written.secret());
        assertThat(cli.ask("ls").out()).contains("ticket of ");
        assertThat(cli.ask("leaks").exitCode())
                .as("an unused ticket is no leak")
                .isZero();

        StartedCli second =
                cli.run("run", "--resume", ticket.toString(), "job", "--", "sh", "-c", "echo $LEASEHOLD_FENCING_TOKEN");
        assertThat(second.exitCode()).as(second.err()).isZero();
        assertThat(Long.parseLong(second.out().strip()))
                .isGreaterThan(Long.parseLong(first.out().strip()));

        StartedCli third = cli.run("run", "--resume=" + ticket, "job", "--", "echo", "ran");
        assertThat(third.exitCode()).isEqualTo(76);
        assertThat(third.out()).isEmpty();
        assertThat(third.errLines()).singleElement().asString().contains("not kept for this ticket");
        assertThat(cli.run("run", "-n", "job", "--", "true").exitCode()).isZero();
    }

    @Test
    void aJobInTheMiddleResumesAndExports() throws IOException {
        exported("--claim", "5m");
        String before = Files.readString(ticket);
        StartedCli middle = cli.run(
                "run",
                "--json",
                "--resume",
                ticket.toString(),
                "--export",
                ticket.toString(),
                "--claim=1m",
                "job",
                "--",
                "true");
        assertThat(middle.exitCode()).isZero();
        assertThat(middle.err()).contains("\"release\":\"EXPORTED\"", "\"outcome\":\"completed\"");
        assertThat(Files.readString(ticket)).isNotEqualTo(before);
        assertThat(cli.run("run", "-n", "job", "--", "true").exitCode()).isEqualTo(75);
        assertThat(cli.run("run", "--resume", ticket.toString(), "job", "--", "true")
                        .exitCode())
                .isZero();
    }

    @Test
    void theTicketIsReadFromTheFirstLineOfStandardInputAndTheRestIsTheCommands() throws IOException {
        exported();
        Path input = Files.writeString(directory.resolve("input"), Files.readString(ticket) + "for\nthe command\n");
        StartedCli run = cli.input(input).run("run", "--resume", "-", "job", "--", "cat");
        assertThat(run.exitCode()).as(run.err()).isZero();
        assertThat(run.out()).isEqualTo("for\nthe command\n");
    }

    @Test
    void aCommandThatFailsLeavesNoTicketAndTheLockFree() throws IOException {
        Files.writeString(ticket, "an old ticket");
        StartedCli run = cli.run("run", "--export", ticket.toString(), "job", "--", "false");
        assertThat(run.exitCode()).isEqualTo(1);
        assertThat(files()).isEmpty();
        assertThat(cli.run("run", "-n", "job", "--", "true").exitCode()).isZero();
    }

    @Test
    void anUnusedTicketFreesTheLockAfterItsClaim() {
        exported("--claim=1500ms");
        assertThat(cli.run("run", "-w", "30s", "job", "--", "true").exitCode()).isZero();
        assertThat(cli.run("run", "--resume", ticket.toString(), "job", "--", "true")
                        .exitCode())
                .isEqualTo(76);
    }

    @Test
    void whatIsNoTicketOrOfAnotherLockIsWrongUse() throws IOException {
        Path wrong = Files.writeString(directory.resolve("wrong"), "hunter2\n");
        exported();
        for (String[] line : new String[][] {
            {"run", "--resume", wrong.toString(), "job", "--", "true"},
            {"run", "--resume", directory.resolve("none").toString(), "job", "--", "true"},
            {"run", "--resume", directory.toString(), "job", "--", "true"},
            {"run", "--resume", ticket.toString(), "other", "--", "true"},
            {"run", "--export", directory.resolve("none/ticket").toString(), "other", "--", "true"},
            {"run", "--export", directory.toString(), "other", "--", "true"},
            {"run", "--export", "-", "other", "--", "true"},
            {"run", "--claim", "1m", "other", "--", "true"},
            {"run", "--export", ticket.toString(), "--claim", "25h", "other", "--", "true"},
            {"run", "-n", "--on-busy=skip", "--resume", ticket.toString(), "job", "--", "true"}
        }) {
            Answer run = cli.ask(line);
            assertThat(run.exitCode())
                    .as(String.join(" ", line) + ": " + run.err())
                    .isEqualTo(64);
            assertThat(run.err().lines())
                    .singleElement()
                    .asString()
                    .startsWith("leasehold: ")
                    .doesNotContain("hunter2");
        }
        assertThat(cli.run("run", "--resume", ticket.toString(), "job", "--", "true")
                        .exitCode())
                .as("the ticket of the lock is still good")
                .isZero();
    }

    @Test
    void aTicketThatCannotBeWrittenIsGivenBack() throws IOException {
        StartedCli run =
                cli.run("run", "--export", ticket.toString(), "job", "--", "sh", "-c", "rm -rf " + ticket.getParent());
        assertThat(run.exitCode()).isEqualTo(70);
        assertThat(run.err()).contains("could not be written", "the lock was released");
        assertThat(cli.run("run", "-n", "job", "--", "true").exitCode()).isZero();
    }

    @Test
    void theReportOfATicketThatCannotBeWrittenSaysThatTheLockWasReleased() {
        StartedCli run = cli.run(
                "run",
                "--json",
                "--export",
                ticket.toString(),
                "job",
                "--",
                "sh",
                "-c",
                "rm -rf " + ticket.getParent());
        assertThat(run.exitCode()).isEqualTo(70);
        assertThat(run.err()).contains("\"release\":\"RELEASED\"");
    }

    @Test
    void onlyARegularFileIsReplaced() throws IOException {
        Path file = Files.writeString(directory.resolve("file"), "of another program");
        Path link = Files.createSymbolicLink(directory.resolve("link"), file);
        Path broken = Files.createSymbolicLink(directory.resolve("broken"), directory.resolve("nowhere"));
        StartedCli.shell("mkfifo " + directory.resolve("fifo"));
        for (Path target : List.of(link, broken, directory.resolve("fifo"))) {
            StartedCli run = cli.run("run", "--export", target.toString(), "job", "--", "touch", "ran");
            assertThat(run.exitCode()).as(run.err()).isEqualTo(64);
            assertThat(run.errLines())
                    .singleElement()
                    .asString()
                    .contains(target.toString(), "not a regular file", "name a file");
            assertThat(Files.exists(target, LinkOption.NOFOLLOW_LINKS)).isTrue();
        }
        assertThat(Files.isSymbolicLink(link)).isTrue();
        assertThat(Files.readString(file)).isEqualTo("of another program");
        assertThat(Files.exists(directory.resolve("ran"))).isFalse();
    }

    /** A file that its owner cannot delete: a directory in its place, which appears after the check. */
    @Test
    void aRunWhoseOldTicketCannotBeRemovedDoesNotStart() throws Exception {
        exported();
        try (StartedCli waiting = cli.start("run", "--export", ticket + "2", "job", "--", "touch", "ran");
                Connection other = DriverManager.getConnection("jdbc:sqlite:" + directory.resolve("locks.db"));
                Statement statement = other.createStatement()) {
            statement.execute("PRAGMA busy_timeout = 10000");
            Await.until("the waiter", () -> isAwaited(statement));
            Files.createDirectories(Path.of(ticket + "2").resolve("full"));
            assertThat(cli.ask("release", "--force", "--yes", "job").exitCode()).isZero();
            assertThat(waiting.exitCode()).as(waiting.err()).isEqualTo(64);
            assertThat(Files.exists(directory.resolve("ran"))).isFalse();
        }
    }

    private static boolean isAwaited(Statement statement) {
        try (ResultSet row = statement.executeQuery("SELECT waiter FROM leasehold_lock WHERE waiter IS NOT NULL")) {
            return row.next();
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    /** The lease is lost between the end of the command and the export. */
    @Test
    void aLeaseThatIsLostAfterTheCommandIsReportedAndLeavesNoTicket() throws IOException {
        Files.writeString(ticket, "an old ticket");
        try (StartedCli run = cli.start(
                "run", "--ttl=3s", "--at-least=30s", "--export", ticket.toString(), "job", "--", "touch", "ended")) {
            Await.until("the end of the command", () -> Files.exists(directory.resolve("ended")));
            assertThat(cli.ask("release", "--force", "--yes", "job").exitCode()).isZero();
            assertThat(run.exitCode()).as(run.err()).isEqualTo(76);
            assertThat(files()).isEmpty();
        }
    }

    @Test
    void aSignalEndsTheWaitForAStoreThatDoesNotAnswerTheExport() throws Exception {
        try (StartedCli run = cli.start(
                        "run",
                        "--ttl=60s",
                        "--export",
                        ticket.toString(),
                        "job",
                        "--",
                        "sh",
                        "-c",
                        "touch ready; until [ -e go ]; do sleep 0.05; done; touch ended");
                Connection other = DriverManager.getConnection("jdbc:sqlite:" + directory.resolve("locks.db"));
                Statement statement = other.createStatement()) {
            Await.until("the start of the command", () -> Files.exists(directory.resolve("ready")));
            statement.execute("PRAGMA busy_timeout = 10000");
            statement.execute("BEGIN EXCLUSIVE");
            Files.createFile(directory.resolve("go"));
            Await.until("the end of the command", () -> Files.exists(directory.resolve("ended")));
            // The run reaps the command, and requests the export.
            Thread.sleep(1_500);
            long fromNanos = System.nanoTime();
            run.signal("TERM");
            assertThat(run.exitCode()).as(run.err()).isEqualTo(69);
            assertThat(Duration.ofNanos(System.nanoTime() - fromNanos)).isLessThan(Duration.ofSeconds(30));
            assertThat(run.errLines()).singleElement().asString().contains("not confirmed", "free after");
            assertThat(files()).isEmpty();
            statement.execute("ROLLBACK");
        }
    }

    @Test
    void aSignalBeforeTheLockIsRequestedLeavesNoFile() throws IOException {
        try (ServerSocket silent = new ServerSocket(0);
                StartedCli run = cli.with("LEASEHOLD_STORE", "redis://127.0.0.1:" + silent.getLocalPort())
                        .start("run", "--export", ticket.toString(), "job", "--", "true");
                Socket connected = silent.accept()) {
            run.signal("TERM");
            assertThat(run.exitCode()).as(run.err()).isEqualTo(143);
            assertThat(connected.isConnected()).isTrue();
            assertThat(files()).isEmpty();
        }
    }
}
