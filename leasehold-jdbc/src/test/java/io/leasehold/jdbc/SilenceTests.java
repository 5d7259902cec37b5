package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.StoreUnavailableException;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreUri;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Connections to a real server that die silently: a firewall has dropped them, or a host has vanished. */
@Timeout(180)
interface SilenceTests {

    /** The port of the server. */
    int port();

    /** The server's URL, at this port. */
    String urlAt(int port);

    /** The dialect. */
    SqlDialect dialect();

    private LeaseClient own(TcpProxy proxy) {
        return LeaseClient.open(runtime -> new JdbcStoreProvider().open(StoreUri.parse(urlAt(proxy.port())), runtime));
    }

    private LeaseClient over(TcpProxy proxy) {
        return LeaseClient.open(runtime -> JdbcStores.over(
                new SimpleDataSource(() -> DriverManager.getConnection(urlAt(proxy.port()))), dialect(), runtime));
    }

    /**
     * The server does not know that its client has vanished in the middle of a renewal, and keeps the row of the lease
     * locked.
     */
    @Test
    default void aRowThatAVanishedConnectionOfOursKeepsIsFreeInTime() throws Exception {
        try (TcpProxy proxy = TcpProxy.to(port());
                LeaseClient client = own(proxy)) {
            OwnerToken owner = client.owner();
            client.granted("vanished", owner);
            proxy.toClient().delay(Duration.ofMillis(700));
            CompletableFuture<RenewReply.Item> renewal =
                    CompletableFuture.supplyAsync(() -> client.renew("vanished", owner, LeaseClient.TTL));
            while (!isLocked("vanished")) {
                assertThat(renewal).isNotDone();
                LockSupport.parkNanos(20_000_000);
            }
            proxy.halfOpenForServer();
            proxy.toClient().delay(Duration.ZERO);
            RenewReply.Item reply = renewal.get(60, TimeUnit.SECONDS);
            // Like the engine, as long as the lease lasts.
            long startAtNanos = System.nanoTime();
            while (reply instanceof RenewReply.Failed
                    && System.nanoTime() - startAtNanos
                            < LeaseClient.TTL.dividedBy(2).toNanos()) {
                reply = client.renew("vanished", owner, LeaseClient.TTL);
            }
            assertThat(reply).isInstanceOf(RenewReply.Renewed.class);
        }
    }

    private boolean isLocked(String name) throws SQLException {
        try (Connection connection = DriverManager.getConnection(urlAt(port()));
                Statement statement = connection.createStatement()) {
            statement
                    .executeQuery("SELECT fence FROM leasehold_lock WHERE name = '" + name + "' FOR UPDATE NOWAIT")
                    .close();
            return false;
        } catch (SQLTransientConnectionException e) {
            throw e;
        } catch (SQLException locked) {
            return true;
        }
    }

    private static AcquireRequest within(String name, OwnerToken owner, Duration limit) {
        return AcquireRequest.exclusive(
                List.of(LockName.exactly(name)), owner, "test", LeaseClient.TTL.toNanos(), limit.toNanos());
    }

    @Test
    default void aConnectionThatFallsSilentIsReplacedAndNoRequestIsLost() {
        try (TcpProxy proxy = TcpProxy.to(port());
                LeaseClient client = own(proxy)) {
            losesNothing(proxy, client, "silent own");
        }
    }

    @Test
    default void aBorrowedConnectionThatFallsSilentIsReplacedAndNoRequestIsLost() {
        try (TcpProxy proxy = TcpProxy.to(port());
                LeaseClient client = over(proxy)) {
            losesNothing(proxy, client, "silent borrowed");
        }
    }

    private static void losesNothing(TcpProxy proxy, LeaseClient client, String name) {
        OwnerToken owner = client.owner();
        client.granted(name, owner);
        proxy.halfOpenForClients();
        assertThat(client.renew(name, owner, LeaseClient.TTL)).isInstanceOf(RenewReply.Renewed.class);
        proxy.halfOpenForClients();
        OwnerToken another = client.owner();
        assertThat(client.acquire(name + " too", another)).isInstanceOf(AcquireReply.Granted.class);
        proxy.halfOpenForClients();
        assertThat(client.release(name, owner)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(proxy.connections().halfOpened())
                .as("connections that fell silent")
                .isPositive();
    }

    @Test
    default void aLeaseOutlivesASilentConnection() throws InterruptedException {
        try (TcpProxy proxy = TcpProxy.to(port());
                LockClient locks = Leasehold.builder()
                        .store(urlAt(proxy.port()))
                        .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(12)))
                        .connect();
                Lease lease = locks.named("silent lease").acquire()) {
            proxy.halfOpenForClients();
            long startAtNanos = System.nanoTime();
            while (System.nanoTime() - startAtNanos < Duration.ofSeconds(14).toNanos()) {
                assertThat(lease.isValid()).isTrue();
                LockSupport.parkNanos(50_000_000);
            }
        }
    }

    /** No connection is answered, not even a new one; when connections are answered again, the store works at once. */
    @Test
    default void silenceIsSaidAndEndsWithTheSilence() {
        try (TcpProxy proxy = TcpProxy.to(port());
                LeaseClient client = own(proxy)) {
            client.granted("silent said", client.owner());
            proxy.drop();
            assertFails(client, Duration.ofMillis(1_500), "the database has not answered for");
            // By now it is trying to connect.
            awaitFailing(client, "no connection");
            proxy.heal();
            long startAtNanos = System.nanoTime();
            client.granted("silent said too", client.owner());
            assertThat(Duration.ofNanos(System.nanoTime() - startAtNanos)).isLessThan(Duration.ofSeconds(20));
        }
    }

    /** The limit for a ttl of 10 s ends sooner than a wait for a table may. */
    @Test
    default void silenceIsNotTakenForOtherTransactions() {
        try (TcpProxy proxy = TcpProxy.to(port());
                LeaseClient client = own(proxy)) {
            client.granted("silent soon", client.owner());
            proxy.drop();
            assertThat(failure(client, Duration.ofSeconds(1))).doesNotContain("busy", "slow");
        }
    }

    private static String failure(LeaseClient client, Duration limit) {
        AcquireReply reply = client.acquire(within("silent unsaid", client.owner(), limit));
        assertThat(reply).isInstanceOf(AcquireReply.Failed.class);
        assertThat(((AcquireReply.Failed) reply).error()).isInstanceOf(StoreUnavailableException.class);
        return ((AcquireReply.Failed) reply).error().getMessage();
    }

    private static void assertFails(LeaseClient client, Duration limit, String why) {
        assertThat(failure(client, limit)).contains(why);
    }

    private static void awaitFailing(LeaseClient client, String why) {
        Supplier<String> next = () -> failure(client, Duration.ofMillis(1_500));
        String said = next.get();
        for (int i = 0; i < 20 && !said.contains(why); i++) {
            said = next.get();
        }
        assertThat(said).contains(why);
    }

    @Test
    default void aServerThatDoesNotAnswerALoginIsAnError() throws Exception {
        try (TcpProxy proxy = TcpProxy.to(port())) {
            proxy.toClient().drop();
            CompletableFuture<String> opening = CompletableFuture.supplyAsync(() -> {
                try (LeaseClient client = own(proxy)) {
                    return client.store.description();
                } catch (StoreUnavailableException e) {
                    return "unavailable";
                }
            });
            assertThat(opening.get(60, TimeUnit.SECONDS)).isEqualTo("unavailable");
        }
    }

    /** A pool without time limits must not be called by ever more threads, nor be given up. */
    @Test
    default void aDataSourceThatHangsIsAskedAgainOnceItDoesNot() throws Exception {
        CompletableFuture<Void> hangs = new CompletableFuture<>();
        SimpleDataSource source = new SimpleDataSource(() -> DriverManager.getConnection(urlAt(port())));
        try (LeaseClient client = LeaseClient.open(runtime -> JdbcStores.over(source, dialect(), runtime))) {
            OwnerToken owner = client.owner();
            client.granted("hangs", owner);
            source.before(hangs::join);
            Connection lost = source.last();
            lost.abort(Runnable::run);
            for (int i = 0; i < 4; i++) {
                assertFails(client, Duration.ofMillis(1_500), "no connection");
            }
            assertThat(source.asked()).as("tries beside each other").isLessThanOrEqualTo(1 + 3);
            source.before(() -> {});
            hangs.complete(null);
            assertThat(client.renew("hangs", owner, LeaseClient.TTL)).isInstanceOf(RenewReply.Renewed.class);
        }
    }
}
