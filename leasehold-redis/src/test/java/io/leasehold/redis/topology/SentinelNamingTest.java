package io.leasehold.redis.topology;

import static io.leasehold.redis.topology.ScriptedRedis.bulks;
import static io.leasehold.redis.topology.ScriptedRedis.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.WatchedRuntime;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.spi.StoreUri;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of the master that Sentinels name, and of a switch after which both masters live and close no connection by
 * themselves.
 */
@Tag("quick")
@Timeout(120)
final class SentinelNamingTest {

    private final WatchedRuntime runtime = new WatchedRuntime(new SystemLockRuntime(), delay -> true);
    private final List<ScriptedRedis> servers = new CopyOnWriteArrayList<>();
    private ScriptedRedis former;
    private ScriptedRedis next;
    private ScriptedRedis one;
    private ScriptedRedis other;
    private MasterTopology topology;

    @BeforeEach
    void start() throws Exception {
        // An answer may take long on a busy machine unless a test limits it.
        runtime.hurry(TimeUnit.SECONDS.toNanos(2), TimeUnit.MINUTES.toNanos(10));
        former = server();
        next = server();
        one = sentinel();
        other = sentinel();
        name(one, former, 1);
        name(other, former, 1);
    }

    @AfterEach
    void close() throws Exception {
        if (topology != null) {
            topology.close();
        }
        runtime.close();
        for (ScriptedRedis server : servers) {
            server.close();
        }
    }

    private ScriptedRedis server() throws Exception {
        ScriptedRedis made = new ScriptedRedis();
        servers.add(made);
        return made;
    }

    private ScriptedRedis sentinel() throws Exception {
        return server().is("sentinel_masters:1");
    }

    private static void name(ScriptedRedis sentinel, ScriptedRedis master, long epoch) {
        String port = Integer.toString(master.port());
        sentinel.says("SENTINEL", command -> switch (command.get(1).toLowerCase(Locale.ROOT)) {
            case "get-master-addr-by-name" -> bulks("127.0.0.1", port);
            case "master" -> bulks("name", "shop", "config-epoch", Long.toString(epoch));
            default -> ScriptedRedis.array(List.of(bulks("name", "shop"), bulks("name", "bank")));
        });
    }

    private Deployment where() {
        return Deployment.parse(StoreUri.parse("redis-sentinel://" + one.address() + "," + other.address() + "/shop"));
    }

    private MasterTopology made() {
        Deployment where = where();
        topology = new MasterTopology(where, LettuceDriver.of(where, new DriverThreads()), where.errors(), runtime);
        return topology;
    }

    private MasterTopology opened() throws Exception {
        made().open().get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS);
        return topology;
    }

    private boolean leadsTo(ScriptedRedis server) {
        Link link = topology.current("");
        return link != null && link.address().port() == server.port();
    }

    private Throwable failure() {
        Throwable thrown = made().open()
                .handle((done, error) -> error)
                .orTimeout(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS)
                .join();
        while (!(thrown instanceof LockStoreException) && thrown.getCause() != null) {
            thrown = thrown.getCause();
        }
        return thrown;
    }

    @Test
    void aSwitchThatOneOfThemTellsOfMovesLinkAndSubscription() throws Exception {
        opened();
        AtomicInteger told = new AtomicInteger();
        topology.onReconnected(told::incrementAndGet);
        List<String> heard = new CopyOnWriteArrayList<>();
        WakeUps wakeUps = topology.wakeUps(heard::add);
        assertThat(wakeUps.started("").get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isTrue();
        String channel = wakeUps.channel("");
        assertThat(former.listening(channel)).isOne();
        until("they are listened to", () -> one.listening("+switch-master") == 1);
        name(one, next, 2);

        one.publish("+switch-master", "shop 127.0.0.1 1 127.0.0.1 2");

        until("the link has moved", () -> leadsTo(next));
        until("the subscription has moved", () -> next.listening(channel) == 1 && wakeUps.isLive(""));
        until("nothing is left at the former master", () -> former.open() == 0);
        assertThat(told).hasPositiveValue();
        next.publish(channel, "wake");
        until("it is heard", () -> heard.contains("wake"));
    }

    /** As if the system had no more threads: the question failed, and is not the last. */
    @Test
    void aDriverThatThrowsOnceIsAskedAgain() throws Exception {
        AtomicReference<Throwable> next = new AtomicReference<>();
        Deployment where = where();
        LettuceDriver real = LettuceDriver.of(where, new DriverThreads());
        Driver throwing = (Driver) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Driver.class}, (self, method, given) -> {
                    Throwable thrown = method.getName().equals("connect") ? next.getAndSet(null) : null;
                    if (thrown != null) {
                        throw thrown;
                    }
                    return method.invoke(real, given);
                });
        topology = new MasterTopology(where, throwing, where.errors(), runtime);
        topology.open().get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS);
        for (Throwable thrown : List.of(new IllegalStateException("no way"), new InternalError("no thread"))) {
            next.set(thrown);
            until("it is thrown", () -> {
                topology.unanswered(topology.connected().get(0));
                return next.get() == null;
            });
            long before = one.asked("SENTINEL");
            until("they are asked again", () -> {
                topology.unanswered(topology.connected().get(0));
                return one.asked("SENTINEL") > before;
            });
        }
    }

    /** A message about another group of the same Sentinels. */
    @Test
    void aSwitchOfAnotherMasterIsNoReasonToAsk() throws Exception {
        opened();
        until("they are listened to", () -> one.listening("+switch-master") == 1);
        long before = one.asked("SENTINEL");
        one.publish("+switch-master", "shopping 127.0.0.1 1 127.0.0.1 2");
        one.publish("+switch-master", "shop 127.0.0.1 1 127.0.0.1 2");
        until("it was asked", () -> one.asked("SENTINEL") > before);
        until("its answers have come", () -> one.open() == 1);
        assertThat(one.asked("SENTINEL")).isEqualTo(before + 2);
    }

    @Test
    void aRequestWithoutAnAnswerMovesTheLinkToWhomTheyName() throws Exception {
        opened();
        name(one, next, 2);
        topology.unanswered(topology.connected().get(0));
        until("the link has moved", () -> leadsTo(next));
        until("nothing is left at the former master", () -> former.open() == 0);
    }

    @Test
    void aMasterThatTakesNoWritesAnyMoreIsLeft() throws Exception {
        opened();
        Link link = topology.connected().get(0);
        name(one, next, 2);
        assertThat(topology.detour("x", link, "ERR no")).isNull();
        assertThat(link.isOpen()).isTrue();

        assertThat(topology.detour("x", link, "READONLY You can't write against a read only replica."))
                .isNull();

        until("the link has moved", () -> leadsTo(next));
    }

    /** It is promoted a moment later and is then the master. */
    @Test
    void aReplicaThatTheyNameIsTriedUntilItIsTheMaster() throws Exception {
        opened();
        next.is("role:slave", "master_host:127.0.0.1", "master_port:1");
        name(one, next, 2);
        topology.unanswered(topology.connected().get(0));
        until("it was tried", () -> next.asked("INFO") >= 3);
        assertThat(topology.current("")).isNull();
        assertThat(topology.failure("")).hasMessageContaining("is a replica now");
        assertThatThrownBy(topology::everywhere).hasMessageContaining("is a replica now");

        next.is("role:master");

        until("the link has moved", () -> leadsTo(next));
    }

    @Test
    void ofTheAnswersTheOneOfTheLatestEpochCounts() throws Exception {
        for (boolean firstIsLater : new boolean[] {true, false}) {
            name(one, firstIsLater ? next : former, firstIsLater ? 7 : 6);
            name(other, firstIsLater ? former : next, firstIsLater ? 6 : 7);
            opened();
            assertThat(leadsTo(next)).isTrue();
            topology.close();
        }
    }

    /** It gets 300 ms after another one has answered. */
    @Test
    void aSentinelThatIsSilentIsNotWaitedFor() throws Exception {
        other.says("SENTINEL", ScriptedRedis.SILENCE);
        opened();
        assertThat(leadsTo(former)).isTrue();
        assertThat(runtime.delays()).contains(TimeUnit.MILLISECONDS.toNanos(300));
    }

    @Test
    void whereNoneAnswersItSaysWhy() {
        runtime.hurry(TimeUnit.SECONDS.toNanos(2), TimeUnit.MILLISECONDS.toNanos(50));
        one.says("SENTINEL", ScriptedRedis.SILENCE);
        other.says("SENTINEL", ScriptedRedis.SILENCE);
        assertThat(failure())
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("has no Sentinel that names its master")
                .hasMessageContaining("did not answer in time");
        assertThat(runtime.delays()).contains(TimeUnit.SECONDS.toNanos(2));
        until("no question is left open", () -> one.open() == 0 && other.open() == 0);
    }

    @Test
    void oneThatKnowsNoSuchMasterSaysWhichItKnows() {
        for (ScriptedRedis sentinel : List.of(one, other)) {
            sentinel.says("SENTINEL", command -> switch (command.get(1).toLowerCase(Locale.ROOT)) {
                case "get-master-addr-by-name" -> "*-1\r\n";
                case "master" -> "-ERR No such master with that name\r\n";
                default -> ScriptedRedis.array(List.of(bulks("name", "shop2"), bulks("name", "bank")));
            });
        }
        assertThat(failure())
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("knows no master named \"shop\"; it knows \"bank\", \"shop2\".");
        topology.close();
        for (ScriptedRedis sentinel : List.of(one, other)) {
            sentinel.says("SENTINEL", command -> switch (command.get(1).toLowerCase(Locale.ROOT)) {
                case "get-master-addr-by-name" -> "*-1\r\n";
                case "master" -> "-ERR No such master with that name\r\n";
                default -> "*0\r\n";
            });
        }
        assertThat(failure()).isInstanceOf(UnsafeStoreException.class).hasMessageContaining("it knows none.");
    }

    /** A permanent failure is reported before a temporary one. */
    @Test
    void aRefusalIsToldBeforeAFailure() throws Exception {
        one.close();
        other.says("SENTINEL", "-NOAUTH Authentication required.\r\n");
        assertThat(failure())
                .isInstanceOf(StoreAccessException.class)
                .hasMessageContaining("Sentinel " + other.address() + " requires a password");
    }

    @Test
    void oneThatCannotBeReachedSaysSo() throws Exception {
        one.close();
        other.close();
        assertThat(failure()).isInstanceOf(StoreUnavailableException.class).hasMessageContaining("cannot be reached: ");
    }

    /** A message that is sent while no client listens is lost. */
    @Test
    void afterASubscriptionThatEndedTheyAreAsked() throws Exception {
        opened();
        until("they are listened to", () -> one.listening("+switch-master") == 1);
        name(one, next, 2);
        one.endListeners();
        until("the link has moved", () -> leadsTo(next));
    }

    /** A message published elsewhere is not for this client, wherever the master is by now. */
    @Test
    void aSubscriptionIsMadeWhereTheLinkLeads() throws Exception {
        opened();
        name(one, next, 2);
        name(other, next, 2);
        WakeUps wakeUps = topology.wakeUps(message -> {});
        assertThat(wakeUps.started("").get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isTrue();
        assertThat(former.listening(wakeUps.channel(""))).isOne();
    }

    @Test
    void aLinkOnWhichNothingIsHeardIsEnded() throws Exception {
        opened();
        Link link = topology.connected().get(0);
        former.says("TIME", ScriptedRedis.SILENCE);
        link.send(PlainCommand.TIME, (time, error) -> {});
        topology.unanswered(link);
        assertThat(link.isOpen()).isTrue();
        runtime.passes(TimeUnit.SECONDS.toNanos(3));
        topology.unanswered(link);
        until("it is ended", () -> !link.isOpen());
        until("another is made", () -> leadsTo(former));
    }

    // ---- the times of the questions

    private static boolean isPause(long delayNanos) {
        return delayNanos < TimeUnit.SECONDS.toNanos(1) && delayNanos != TimeUnit.MILLISECONDS.toNanos(300);
    }

    private List<Long> pauses() {
        return runtime.delays().stream().filter(SentinelNamingTest::isPause).toList();
    }

    private void pausesLast(long nanos) {
        runtime.changing(delay -> isPause(delay) ? nanos : TimeUnit.MINUTES.toNanos(10));
    }

    private void rests() {
        until("rest", () -> {
            int before = runtime.delays().size();
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
            return runtime.delays().size() == before && one.open() == 1 && other.open() == 1;
        });
    }

    /** Sentinels get most questions just when they must elect. */
    @Test
    void thePauseAfterAQuestionGrowsWhileThereIsReasonToAsk() throws Exception {
        opened();
        Link link = topology.connected().get(0);
        pausesLast(TimeUnit.MILLISECONDS.toNanos(1));
        rests();
        for (int round = 1; round <= 2; round++) {
            int before = pauses().size();
            until("four pauses", () -> {
                topology.unanswered(link);
                return pauses().size() >= before + 4;
            });
            rests();
            for (int i = 0; i < 4; i++) {
                long most = TimeUnit.MILLISECONDS.toNanos(80) << i;
                assertThat(pauses().get(before + i))
                        .as("pause %s of round %s", i, round)
                        .isBetween(most / 2, most);
            }
        }
    }

    @Test
    void duringAPauseOnlyTheySayThatTheyAreToBeAsked() throws Exception {
        opened();
        Link link = topology.connected().get(0);
        until("they are listened to", () -> one.listening("+switch-master") == 1);
        pausesLast(TimeUnit.MINUTES.toNanos(10));
        topology.unanswered(link);
        until("the pause has begun", () -> !pauses().isEmpty() && one.open() == 1);
        int before = pauses().size();
        long asked = one.asked("SENTINEL");
        topology.unanswered(link);
        assertThat(pauses()).hasSize(before);
        assertThat(one.asked("SENTINEL")).isEqualTo(asked);

        one.publish("+switch-master", "shop a b c d");

        until("the next pause has begun", () -> pauses().size() == before + 1);
        assertThat(one.asked("SENTINEL")).isEqualTo(asked + 2);
    }

    @Test
    void aSwitchDuringAQuestionLeadsToOneMoreAtOnce() throws Exception {
        opened();
        until("they are listened to", () -> one.listening("+switch-master") == 1 && other.open() == 1);
        pausesLast(TimeUnit.MINUTES.toNanos(10));
        long asked = one.asked("SENTINEL");
        String answers = bulks("127.0.0.1", Integer.toString(former.port())) + bulks("config-epoch", "1");
        one.says("SENTINEL", ScriptedRedis.SILENCE);
        other.says("SENTINEL", ScriptedRedis.SILENCE);
        Link link = topology.connected().get(0);
        topology.unanswered(link);
        until("they are asked", () -> one.asked("SENTINEL") == asked + 2 && other.open() == 2);
        one.publish("+switch-master", "shop a b c d");
        one.publish("+switch-master", "shop a b c d");
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
        assertThat(one.asked("SENTINEL")).isEqualTo(asked + 2);
        name(one, next, 2);
        name(other, next, 2);

        one.say("SENTINEL", answers);
        other.say("SENTINEL", answers);

        until("they are asked once more", () -> one.asked("SENTINEL") == asked + 4);
        until("the former master is left", () -> !link.isOpen());
        until("one pause", () -> pauses().stream().anyMatch(pause -> pause >= TimeUnit.MILLISECONDS.toNanos(40)));
        assertThat(one.asked("SENTINEL")).isEqualTo(asked + 4);
    }

    /** As when all of them are cut off. */
    @Test
    void aQuestionThatNoneOfThemAnswersIsNotTheLast() throws Exception {
        opened();
        Link link = topology.connected().get(0);
        until("they are listened to", () -> one.listening("+switch-master") == 1 && other.open() == 1);
        pausesLast(TimeUnit.MILLISECONDS.toNanos(1));
        rests();
        for (int i = 1; i <= 2; i++) {
            one.says("SENTINEL", "-IDONTKNOW yet\r\n");
            other.says("SENTINEL", "-IDONTKNOW yet\r\n");
            long before = one.asked("SENTINEL");
            topology.unanswered(link);
            until("they are asked", () -> one.asked("SENTINEL") > before);
            rests();
        }
        name(one, next, 2);
        topology.unanswered(link);
        until("the link has moved", () -> leadsTo(next));
    }

    /** This applies to the connections to Sentinels and to their later messages. */
    @Test
    void afterTheCloseNothingIsAsked() throws Exception {
        opened();
        Link link = topology.connected().get(0);
        until("they are listened to", () -> one.listening("+switch-master") == 1 && other.open() == 1);
        topology.close();
        until("nothing is left", () -> servers.stream().allMatch(server -> server.open() == 0));
        long before = one.asked("");
        topology.unanswered(link);
        assertThat(one.asked("")).isEqualTo(before);
        int delays = runtime.delays().size();
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(150));
        assertThat(runtime.delays()).as("nothing is tried again").hasSize(delays);
    }

    /** A member of a set that was down when the set was opened. */
    @Test
    void whatCouldNotBeOpenedGoesOnTrying() throws Exception {
        String refusal = "-IDONTKNOW yet\r\n";
        one.says("SENTINEL", refusal);
        other.says("SENTINEL", refusal);
        assertThat(failure()).hasMessageContaining("IDONTKNOW yet");
        AtomicInteger told = new AtomicInteger();
        topology.onReconnected(told::incrementAndGet);
        topology.keepTrying();
        until("they are listened to", () -> one.listening("+switch-master") == 1);
        long before = one.asked("SENTINEL");
        until("they are asked again", () -> one.asked("SENTINEL") >= before + 6);

        name(one, former, 1);

        until("it is connected", () -> leadsTo(former));
        until("it is notified", () -> told.get() == 1);
    }
}
