package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Guarantee;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.assertj.core.util.Throwables;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** From the URI to the store, and every URI that is refused. */
@Tag("quick")
class JdbcStoreProviderTest {

    @TempDir
    private Path directory;

    private static void assertLocks(String uri, Guarantee.Scope scope) throws InterruptedException {
        try (LockClient client = Leasehold.connect(uri);
                Lease lease = client.named("x").tryAcquire(Duration.ofSeconds(30))) {
            assertThat(lease).isNotNull();
            assertThat(client.guarantees().scope()).isEqualTo(scope);
        }
    }

    @Test
    void sqliteUrisLeadToTheirFile() throws InterruptedException {
        Path file = directory.resolve("a b/" + (canNameFiles("ü") ? "ü" : "u") + ".db");
        assertLocks("sqlite:" + file, Guarantee.Scope.MACHINE);
        assertLocks("jdbc:sqlite:" + file + "?synchronous=full", Guarantee.Scope.MACHINE);
        assertThat(file).isNotEmptyFile();
    }

    /** In a locale whose character set is ASCII, no file can have such a name. */
    private static boolean canNameFiles(String name) {
        String encoding = System.getProperty("sun.jnu.encoding", "UTF-8");
        return Charset.forName(encoding).newEncoder().canEncode(name);
    }

    /**
     * A process with its own {@code HOME} shows that the store uses it: see {@code SmallFaultsTest} of the command
     * line.
     */
    @Test
    void theDefaultFileIsInTheHomeOfTheUser() {
        assertThat(SqliteStore.home("/home/app", "/root")).isEqualTo(Path.of("/home/app"));
        assertThat(SqliteStore.home(null, "/root")).isEqualTo(Path.of("/root"));
        assertThat(SqliteStore.home("", "/root")).isEqualTo(Path.of("/root"));
        assertThatThrownBy(() -> SqliteStore.home(null, "?")).isInstanceOf(StoreUnavailableException.class);
        assertThat(SqliteStore.defaultPath()).isEqualTo(SqliteStore.home().resolve(".leasehold/locks.db"));
    }

    @Test
    void aFileThatIsNotToBeMadeMustBeThere() throws InterruptedException, IOException {
        Path file = directory.resolve("none/locks.db");
        Path empty = Files.createFile(directory.resolve("empty.db"));
        for (Path none : List.of(file, empty)) {
            assertThatThrownBy(() -> Leasehold.connect("sqlite:" + none + "?create=false"))
                    .isInstanceOf(StoreUnavailableException.class)
                    .hasMessage("there is no store at " + none + ": no lock was ever acquired there");
        }
        assertThat(file.getParent()).doesNotExist();
        assertThat(empty).isEmptyFile();
        assertLocks("sqlite:" + file, Guarantee.Scope.MACHINE);
        assertLocks("sqlite:" + file + "?create=false&synchronous=full", Guarantee.Scope.MACHINE);
    }

    @Test
    void h2UrlsLeadToTheirDatabase() throws InterruptedException {
        assertLocks("jdbc:h2:mem:" + UUID.randomUUID(), Guarantee.Scope.PROCESS);
        assertLocks("jdbc:h2:file:" + directory.resolve("h2"), Guarantee.Scope.PROCESS);
    }

    /**
     * A horizon covers the commits that a loss of power may lose; if each commit is on the disk, no horizon is needed.
     */
    @Test
    void aFileHasATokenHorizonUnlessEachCommitWaitsForTheDisk() throws Exception {
        for (String synchronous : List.of("normal", "full")) {
            Path file = directory.resolve(synchronous + ".db");
            assertLocks("sqlite:" + file + "?synchronous=" + synchronous, Guarantee.Scope.MACHINE);
            try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file);
                    Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery("SELECT token_horizon > 0 FROM leasehold_store")) {
                assertThat(row.next()).isTrue();
                assertThat(row.getBoolean(1)).as(synchronous).isEqualTo(synchronous.equals("normal"));
            }
        }
    }

    @Test
    void aDialectOnTheClassPathIsTakenByItsSubprotocol() throws InterruptedException {
        try (LockClient client = Leasehold.connect("jdbc:sample:mem:" + UUID.randomUUID());
                Lease lease = client.named("x").tryAcquire(Duration.ofSeconds(30))) {
            assertThat(lease).isNotNull();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "sqlite://host/locks.db, it must not contain a host",
        "sqlite:///tmp/locks.db, it must not contain a host",
        "sqlite::memory:, memory:",
        "jdbc:sqlite::memory:, memory:",
        "'sqlite: ', blank",
        "sqlite:x.db?mode=ro, unknown option",
        "sqlite:x.db?synchronous=off, unknown option",
        "sqlite:x.db?create=maybe, unknown option",
        "sqlite:?create=maybe, unknown option",
        "sqlite:x.db?create=false&mode=ro, unknown option",
        "jdbc:oracle:thin:db, docs/stores/own-dialect.md",
        "jdbc:sqlserver://db;databaseName=x, no dialect for jdbc:sqlserver:…",
        "jdbc:db2://db/x, this version keeps locks in",
        "jdbc:, this version keeps locks in"
    })
    void malformedUrisAreRefusedWithTheirValueAndTheRule(String uri, String rule) {
        assertThatThrownBy(() -> Leasehold.connect(uri))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll(uri, rule)
                .hasMessageNotContaining("\n");
    }

    /** No driver accepts this form, so it is an easy mistake; PostgreSQL's driver would log the password. */
    @ParameterizedTest
    @ValueSource(strings = {"jdbc:postgresql://joe:pssst@db/x", "jdbc:mariadb://joe:pssst@db:3306/x?password=pssst"})
    void aUserBeforeTheHostIsRefusedBeforeADriverSeesIt(String uri) {
        List<String> logged = new CopyOnWriteArrayList<>();
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord record) {
                logged.add(record.getMessage() + Arrays.toString(record.getParameters()));
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        Logger root = Logger.getLogger("");
        root.addHandler(handler);
        try {
            assertThatThrownBy(() -> Leasehold.connect(uri))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("?user=USER&password=")
                    .satisfies(e -> assertThat(Throwables.getStackTrace(e)).doesNotContain("pssst"));
        } finally {
            root.removeHandler(handler);
        }
        assertThat(logged.toString()).doesNotContain("pssst");
    }

    @Test
    void secretsOfRefusedUrisAreHidden() {
        assertThatThrownBy(() -> Leasehold.connect("jdbc:oracle://joe:pssst@db/x?password=pssst"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageNotContaining("pssst");
    }

    @Test
    void aWrongPasswordIsAnAccessErrorThatDoesNotShowIt() {
        String url = "jdbc:h2:file:" + directory.resolve("secret") + ";USER=joe;PASSWORD=";
        try (LockClient client = Leasehold.connect(url + "right-pssst")) {
            assertThat(client.storeDescription()).contains("secret").doesNotContain("pssst");
        }
        assertThatThrownBy(() -> Leasehold.connect(url + "wrong-pssst"))
                .isInstanceOf(StoreAccessException.class)
                .hasStackTraceContaining("Wrong user name or password")
                .satisfies(e -> assertThat(Throwables.getStackTrace(e)).doesNotContain("pssst"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "jdbc:h2:tcp://127.0.0.1:1/x;PASSWORD=pssst",
                "jdbc:postgresql://127.0.0.1:1/x?password=pssst",
                "jdbc:mariadb://127.0.0.1:1/x?password=pssst",
                "jdbc:mysql://127.0.0.1:1/x?password=pssst"
            })
    void aServerThatIsNotThereIsUnavailable(String uri) {
        assertThatThrownBy(() -> Leasehold.connect(uri))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("127.0.0.1:1")
                .hasMessageNotContaining("pssst");
    }

    /** Otherwise the client would start, and refuse every lock. */
    @Test
    void alsoALazyClientReportsIt() {
        for (String wrong :
                List.of("sqlite:/a?synchron=full", "jdbc:oracle:thin:@h", "jdbc:postgresql://me:secret@h/app")) {
            assertThatThrownBy(() -> Leasehold.builder().store(wrong).connectLazily())
                    .as(wrong)
                    .isInstanceOf(IllegalArgumentException.class);
        }
        assertThatThrownBy(() -> Leasehold.builder()
                        .store("jdbc:postgresql://h/app?user=me")
                        .credentials(() -> {
                            throw new AssertionError("no store is opened");
                        })
                        .connectLazily())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("credentials");
    }
}
