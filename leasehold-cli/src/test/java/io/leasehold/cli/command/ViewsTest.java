package io.leasehold.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Guarantee;
import io.leasehold.Guarantees;
import io.leasehold.Holder;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.Finding;
import io.leasehold.admin.LockAdmin;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.cli.DurationConverter;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.StoreOption;
import io.leasehold.cli.output.Json;
import io.leasehold.cli.output.Style;
import io.leasehold.cli.output.Terminal;
import io.leasehold.cli.process.OnLost;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalTime;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests of the display of numbers at their bounds, and of failed readings. */
@Tag("quick")
class ViewsTest {

    @ParameterizedTest
    @CsvSource({
        "0,0ms",
        "999,999ms",
        "1000,1.0s",
        "12345,12.3s",
        "59999,59.9s",
        "60000,1m00s",
        "320000,5m20s",
        "3599999,59m59s",
        "3600000,1h00m",
        "11100000,3h05m"
    })
    void aDurationIsShownInTheUnitThatFits(long millis, String shown) {
        assertThat(HolderView.duration(Duration.ofMillis(millis))).isEqualTo(shown);
    }

    @ParameterizedTest
    @CsvSource({"BY_TTL,not known", "WITH_SESSION,while its session lasts", "NEVER,no end"})
    void howAHoldEndsIsShownWhereItsTimeIsNotKnown(Holder.Ends ends, String shown) {
        Holder holder = new Holder("host/1/a", null, OptionalLong.empty(), ends);
        assertThat(HolderView.remaining(holder)).isEqualTo(shown);
        assertThat(HolderView.sentence(holder)).isEqualTo("held by host/1/a");
        assertThat(HolderView.token(holder)).isEqualTo("-");
    }

    @Test
    void aHolderIsShownWithWhatIsKnownOfIt() {
        Duration left = Duration.ofMillis(12_345);
        Holder whole = new Holder("host/1/a", left, OptionalLong.of(7), Holder.Ends.BY_TTL);
        assertThat(HolderView.sentence(whole)).isEqualTo("held by host/1/a (token 7, 12.3s left)");
        assertThat(HolderView.remaining(whole)).isEqualTo("12.3s");
        assertThat(HolderView.token(whole)).isEqualTo("7");
        assertThat(Json.of(HolderView.json(whole)))
                .isEqualTo("{\"id\":\"host/1/a\",\"fencingToken\":7,\"remainingTtlMs\":12345,\"ends\":\"by-ttl\","
                        + "\"user\":null,\"command\":null}");
        assertThat(HolderView.sentence(new Holder("host/1/a", null, OptionalLong.of(7), Holder.Ends.NEVER)))
                .isEqualTo("held by host/1/a (token 7)");
        assertThat(HolderView.sentence(new Holder("host/1/a", left, OptionalLong.empty(), Holder.Ends.BY_TTL)))
                .isEqualTo("held by host/1/a (12.3s left)");
        assertThat(Json.of(HolderView.json(new Holder("host/1/a", null, OptionalLong.empty(), Holder.Ends.NEVER))))
                .isEqualTo("{\"id\":\"host/1/a\",\"fencingToken\":null,\"remainingTtlMs\":null,\"ends\":\"never\","
                        + "\"user\":null,\"command\":null}");
        assertThat(HolderView.sentence(null)).isEqualTo("held by another client");
    }

    @Test
    void aRunIsShownWithItsUserAndItsCommand() {
        RunLabel label = RunLabel.of("alice", "/usr/local/bin/nightly report");
        assertThat(label.text()).isEqualTo("run.alice.nightly_report");
        assertThat(RunLabel.in("host/1/cafe/" + label.text())).isEqualTo(label);
        assertThat(Json.of(HolderView.json(holder("host/1/cafe/run.alice.job.sh"))))
                .endsWith("\"user\":\"alice\",\"command\":\"job.sh\"}");
        assertThat(RunLabel.of("a.b@c", "x").text())
                .as("the first dot ends the user")
                .isEqualTo("run.a_b_c.x");
        assertThat(RunLabel.of("u".repeat(100), "c".repeat(100)).text()).hasSize(64);
        for (String other :
                List.of("host/1/cafe", "host/1/cafe/billing", "host/1/cafe/run.", "run.a.b", "far/run.a.b")) {
            assertThat(RunLabel.in(other)).as(other).isNull();
        }
    }

    @Test
    void aTableAsksAboutTheFirstLocksAloneAndGoesWithoutWhatIsRefused() {
        AtomicInteger asked = new AtomicInteger();
        LockAdmin admin = answering(LockAdmin.class, (self, method, arguments) -> {
            asked.incrementAndGet();
            return method.getName().equals("client") ? Optional.empty() : List.of();
        });
        String[] names = IntStream.range(0, 150).mapToObj(i -> "lock" + i).toArray(String[]::new);
        HeldTable table = HeldTable.of(client(admin), locks(names));
        assertThat(asked).hasValue(200);
        assertThat(table.rows().get(99).waiting()).isEqualTo("0");
        assertThat(table.rows().get(100).waiting()).isEqualTo("-");

        LockAdmin refusing = answering(LockAdmin.class, (self, method, arguments) -> {
            asked.incrementAndGet();
            throw new StoreUnavailableException("not now", null);
        });
        asked.set(0);
        assertThat(HeldTable.of(client(refusing), locks("a", "b")).lines(row -> Style.PLAIN))
                .hasSize(3)
                .last()
                .satisfies(line -> assertThat(line.text()).startsWith("b     -     -        -      -"));
        assertThat(asked).hasValue(1);
        assertThat(new HeldTable.Row(locks("a").get(0), null, 101).waiting()).isEqualTo("100+");
    }

    @Test
    void aStoppedRunSaysWhenItsLeaseEnds() {
        assertThat(StoppedLine.text(
                        LockName.of("job"), Duration.ofMillis(27_300), LocalTime.of(23, 59, 50), OnLost.TERM))
                .isEqualTo(
                        "stopped: the lease on \"job\" ends in 27.3s, at 00:00:17, unless it continues before (fg, bg);"
                                + " the command is killed shortly before");
        assertThat(StoppedLine.text(LockName.of("job"), Duration.ofSeconds(3), LocalTime.NOON, OnLost.IGNORE))
                .endsWith("(fg, bg); the command is left alone (--on-lost=ignore)");
    }

    @Test
    void aWaiterIsShownWithTheTimeThatItWaited() {
        QueuedWaiter known = new QueuedWaiter("host/1/b", Duration.ofSeconds(2));
        QueuedWaiter unknown = new QueuedWaiter("host/1/b", null);
        assertThat(HolderView.line(known)).isEqualTo("host/1/b (for 2.0s)");
        assertThat(HolderView.line(unknown)).isEqualTo("host/1/b");
        assertThat(Json.of(HolderView.json(known))).isEqualTo("{\"id\":\"host/1/b\",\"waitedMs\":2000}");
        assertThat(Json.of(HolderView.json(unknown))).isEqualTo("{\"id\":\"host/1/b\",\"waitedMs\":null}");
    }

    @Test
    void theWorstFindingMakesTheExitCodeOfDoctor() {
        Finding good = Finding.good("a", "well");
        Finding warning = Finding.warning("b", "not well", "mend it");
        Finding unknown = Finding.unknown("c", "not told", null);
        Finding unsafe = Finding.unsafe("d", "bad", "mend it");
        assertThat(DoctorCommand.exitCode(List.of(good, good))).isEqualTo(ExitCode.OK);
        assertThat(DoctorCommand.exitCode(List.of(good, warning))).isEqualTo(ExitCode.FOUND);
        assertThat(DoctorCommand.exitCode(List.of(unknown, good))).isEqualTo(ExitCode.FOUND);
        assertThat(DoctorCommand.exitCode(List.of(warning, unsafe, good))).isEqualTo(ExitCode.UNSAFE);
    }

    @SuppressWarnings("unchecked")
    private static <T> T answering(Class<T> type, InvocationHandler handler) {
        return (T) Proxy.newProxyInstance(ViewsTest.class.getClassLoader(), new Class<?>[] {type}, handler);
    }

    private static LockClient client(LockAdmin admin) {
        Guarantees fifo = new Guarantees(
                Guarantee.Exclusion.BY_STORE,
                Guarantee.Fencing.INCREASING,
                Guarantee.Queueing.FIFO,
                Guarantee.Scope.NETWORK);
        return answering(LockClient.class, (self, method, arguments) -> switch (method.getName()) {
            case "admin" -> admin;
            case "guarantees" -> fifo;
            default -> throw new UnsupportedOperationException(method.getName());
        });
    }

    /** A view with this number of waiters. */
    private static LockView view(int waiting) {
        LockAdmin admin = answering(LockAdmin.class, (self, method, arguments) -> switch (method.getName()) {
            case "inspect" -> Optional.empty();
            case "waiters" ->
                IntStream.range(0, Math.min(waiting, (Integer) arguments[1]))
                        .mapToObj(i -> new QueuedWaiter("host/1/" + i, null))
                        .toList();
            default -> throw new UnsupportedOperationException(method.getName());
        });
        return LockView.of(client(admin), LockName.of("busy"));
    }

    @Test
    void aLongQueueIsCutAndSaysSo() {
        assertThat(view(0).lines()).containsExactly("waiters   none");
        assertThat(view(100).lines()).hasSize(100).last().asString().endsWith("host/1/99");
        assertThat(view(101).lines()).hasSize(101).last().asString().endsWith("and more");
    }

    private static Holder holder(String id) {
        return new Holder(id, Duration.ofSeconds(9), OptionalLong.of(7), Holder.Ends.BY_TTL);
    }

    /** The health of a holder that reported at this time, or never. */
    private static String health(@Nullable Instant reportedAt, boolean reported) {
        return reporting(reportedAt, reported).advice(holder("host/1/a"), "").get(0);
    }

    private static LockView reporting(@Nullable Instant reportedAt, boolean reported) {
        ClientRecord record = new ClientRecord("host/1/a", "host", 1, "", Instant.EPOCH, List.of(), reportedAt);
        return new LockView(
                LockName.of("busy"),
                holder("host/1/a"),
                List.of(),
                reported ? new ClientView(record, null) : null,
                null);
    }

    @Test
    void onlyAReportThatIsKnownToBeInTimeIsGood() {
        Instant now = Instant.now();
        assertThat(reporting(now, true).healthStyle()).isEqualTo(Style.GOOD);
        assertThat(reporting(now.minusSeconds(11), true).healthStyle()).isEqualTo(Style.WARNING);
        assertThat(reporting(now.minusSeconds(60), true).healthStyle()).isEqualTo(Style.PLAIN);
        assertThat(reporting(null, true).healthStyle()).isEqualTo(Style.PLAIN);
        assertThat(reporting(null, false).healthStyle()).isEqualTo(Style.WARNING);
    }

    @Test
    void aHolderIsCalledAliveOnlyAsLongAsItReports() {
        Instant now = Instant.now();
        assertThat(health(now, true)).startsWith("health    alive: its client last reported ");
        assertThat(health(now.minusSeconds(11), true))
                .matches(
                        "health    its client has been silent for 1[1-5]s \\(it reports every 5s\\); unless it renews,.*");
        String unknown = "health    its client reported within the last 16s; whether in time is not known (";
        assertThat(health(null, true)).isEqualTo(unknown + "the report has no time)");
        assertThat(health(now.minusSeconds(60), true)).isEqualTo(unknown + "the clocks differ)");
        assertThat(health(now.plusSeconds(60), true)).isEqualTo(unknown + "the clocks differ)");
        assertThat(health(null, false))
                .isEqualTo(
                        "health    no report from its client: it may be gone, the hold may be under a second old, or this"
                                + " store keeps no reports; unless it renews, the lock is free in 9.0s");
    }

    /** As an option of another name. */
    @Test
    void aNameWithADashIsTheLastWordOfWhatIsAdvised() {
        Holder readers = new Holder("readers", Duration.ofSeconds(9), OptionalLong.of(7), Holder.Ends.BY_TTL);
        assertThat(advice("-x", holder("host/1/a")))
                .anySatisfy(line -> assertThat(line).contains("leasehold wait -- -x    ("))
                .anySatisfy(line -> assertThat(line)
                        .contains("leasehold release --holder host/1/a -- -x    (a dry run; add --yes before the --"));
        assertThat(advice("-x y", readers))
                .anySatisfy(line -> assertThat(line).contains("leasehold wait -- '-x y'    ("))
                .anySatisfy(line -> assertThat(line).contains("leasehold release --holder ID -- '-x y'    (ends one"));
        assertThat(advice("x", holder("host/1/a")))
                .anySatisfy(line -> assertThat(line).contains("leasehold wait x    ("))
                .anySatisfy(line -> assertThat(line)
                        .contains("leasehold release x --holder host/1/a    (a dry run; add --yes to take"));
        LockAdmin admin = answering(
                LockAdmin.class,
                (self, method, arguments) -> Optional.of(new PermitsStatus(
                        LockName.of("-x").asPermits(),
                        2,
                        1,
                        List.of(new PermitsStatus.HeldPermit(1, holder("host/1/a"))))));
        assertThat(PermitLines.hint(admin, LockName.of("-x"), "")).endsWith(": leasehold permits -- -x");
        assertThat(PermitLines.hint(admin, LockName.of("-x"), " --store sqlite:a"))
                .endsWith(": leasehold permits --store sqlite:a -- -x");
    }

    private static List<String> advice(String name, Holder holder) {
        return advice(name, holder, "");
    }

    private static List<String> advice(String name, Holder holder, String store) {
        return new LockView(LockName.of(name), holder, List.of(), null, null).advice(holder, store);
    }

    /** Without it, the command would look at another store, and may report the lock as free. */
    @Test
    void whatIsAdvisedNamesTheStoreOfTheCommandLine() {
        StoreOption store = new StoreOption();
        assertThat(LockView.words(store)).as("the environment names it").isEmpty();
        store.name("sqlite:/tmp/a b's.db");
        assertThat(LockView.words(store)).isEqualTo(" --store 'sqlite:/tmp/a b'\\''s.db'");
        store.name("redis://:secret@host");
        assertThat(LockView.words(store)).isEqualTo(" --store \u2026");
        String words = " --store redis://host";
        assertThat(advice("x", holder("host/1/a"), words))
                .anySatisfy(line -> assertThat(line).contains("leasehold wait x --store redis://host    ("))
                .anySatisfy(line -> assertThat(line)
                        .contains("leasehold release x --holder host/1/a --store redis://host    (a dry run;"));
        assertThat(advice("-x", holder("readers"), words))
                .anySatisfy(line -> assertThat(line).contains("leasehold wait --store redis://host -- -x    ("));
    }

    @ParameterizedTest
    @CsvSource({"100ms,0,101", "100ms,99,2", "100ms,100,0", "0s,0,0", "1h,0,250", "1h,3599900,101"})
    void waitLooksForTheLastTimeWhenItsPatienceEnds(String patience, long waitedMillis, long pause) {
        Duration most = new DurationConverter().convert(patience);
        assertThat(WaitCommand.pauseMillis(most, waitedMillis * 1_000_000)).isEqualTo(pause);
        assertThat(WaitCommand.pauseMillis(null, waitedMillis * 1_000_000)).isEqualTo(250);
    }

    @Test
    void aWaitingLineSaysForWhomAndHowLongOnOneLine() {
        assertThat(WaitingLine.text("x", ": held by host/1/a", Duration.ofMillis(72_900)))
                .isEqualTo("waiting for x: held by host/1/a, 1m12s");
        assertThat(WaitingLine.text("x", "", Duration.ofSeconds(2))).isEqualTo("waiting for x, 2s");
        assertThat(WaitingLine.text("x".repeat(200), ": held by host/1/a", Duration.ofSeconds(2)))
                .hasSize(79)
                .startsWith("waiting for xxx")
                .endsWith("\u2026: held by host/1/a, 2s");
        assertThat(WaitingLine.text(
                        "nightly-report",
                        ": held by host-of-a-long-name/1234/0123456789abcdef/run.alice.report.sh",
                        Duration.ofSeconds(2)))
                .as("the label at the end says more than the rest of the id")
                .hasSize(79)
                .startsWith("waiting for nightly-rep\u2026: held by host-")
                .contains("\u2026")
                .endsWith("/run.alice.report.sh, 2s");
    }

    private static List<LockAdmin.HeldLock> locks(String... names) {
        return Stream.of(names)
                .map(name -> new LockAdmin.HeldLock(LockName.of(name), holder("host/1/" + name)))
                .toList();
    }

    private static Listing listing(int limit, String... names) {
        LockAdmin admin = answering(
                LockAdmin.class,
                (self, method, arguments) ->
                        locks(names).stream().limit((Integer) arguments[1]).toList());
        return Listing.of(admin, "*", limit);
    }

    @Test
    void whatIsBeyondTheLimitIsNotToldAsFreed() {
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        PrintStream stream = new PrintStream(said, true, StandardCharsets.UTF_8);
        LockClient locks = client(answering(LockAdmin.class, (self, method, arguments) -> List.of()));
        WatchView view = new WatchView.Changes(new Terminal(stream, stream), false);
        assertThat(listing(2, "b", "c").isCut()).isFalse();
        view.show(locks, listing(2, "b", "c"));
        view.show(locks, listing(2, "a", "b", "c"));
        assertThat(listing(2, "a", "b", "c").remark()).isEqualTo("more than 2: raise --limit to see the rest");
        assertThat(said.toString(StandardCharsets.UTF_8))
                .contains("+ a", "+ b", "+ c")
                .doesNotContain("- c");
        view.show(locks, listing(2, "a", "c", "d"));
        view.show(locks, listing(2, "a", "c"));
        assertThat(said.toString(StandardCharsets.UTF_8)).contains("- b").doesNotContain("- c", "- d");
        assertThat(said.toString(StandardCharsets.UTF_8).split("\\+ c", -1))
                .as("told once")
                .hasSize(2);
        view.show(locks, listing(2));
        assertThat(said.toString(StandardCharsets.UTF_8)).contains("- a", "- c");
    }

    private static String scrape(MetricsEndpoint endpoint) throws IOException {
        URI address = URI.create("http://127.0.0.1:" + endpoint.port() + "/metrics");
        try (var body = address.toURL().openStream()) {
            return new String(body.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    @Test
    void aLookForLeaksThatFailsIsToldAndSaysNothingOfTheStore() throws Exception {
        AtomicBoolean down = new AtomicBoolean(true);
        AtomicInteger looks = new AtomicInteger();
        LockAdmin admin = answering(LockAdmin.class, (self, method, arguments) -> {
            looks.incrementAndGet();
            if (down.get()) {
                throw new StoreUnavailableException("the store is down", null);
            }
            return List.of();
        });
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        PrintStream stream = new PrintStream(said, true, StandardCharsets.UTF_8);
        Terminal terminal = new Terminal(stream, stream);
        try (MetricsEndpoint endpoint = MetricsEndpoint.ofStore(0)) {
            endpoint.storeAnswered(3);
            assertThat(scrape(endpoint)).contains("distributed_lock_store_up 1", "distributed_lock_store_held 3");
            endpoint.lookForLeaksSometimes(client(admin), terminal::complain);
            assertThat(scrape(endpoint)).as("it has just answered").contains("distributed_lock_store_up 1");
            assertThat(said.toString(StandardCharsets.UTF_8))
                    .contains("the search for leaks failed: the store is down; retrying");
            down.set(false);
            endpoint.storeAnswered(4);
            endpoint.lookForLeaksSometimes(client(admin), terminal::complain);
            assertThat(looks).as("looks within a minute").hasValue(1);
            assertThat(scrape(endpoint)).contains("distributed_lock_store_up 1", "distributed_lock_store_held 4");
            endpoint.storeFailed();
            assertThat(scrape(endpoint)).contains("distributed_lock_store_up 0");
        }
    }
}
