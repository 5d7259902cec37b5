package io.leasehold.simulator.proxy;

import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.testkit.tck.StoreFront;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiFunction;

/** Proxies in front of all servers of a store. */
public final class ProxyFront implements StoreFront {

    private final List<TcpProxy> proxies;
    private final String uri;
    private final BiFunction<String, LockRuntime, LockStore> opener;
    private final boolean own;

    private ProxyFront(
            List<TcpProxy> proxies, String uri, BiFunction<String, LockRuntime, LockStore> opener, boolean own) {
        this.proxies = List.copyOf(proxies);
        this.uri = uri;
        this.opener = opener;
        this.own = own;
    }

    /**
     * Creates a front that closes its proxies.
     *
     * @param uri the URI of the store behind them
     */
    public static ProxyFront of(List<TcpProxy> proxies, String uri, BiFunction<String, LockRuntime, LockStore> opener) {
        return new ProxyFront(proxies, uri, opener, true);
    }

    /**
     * Creates a front over proxies that stay open, healed, when it is closed: servers report these addresses to their
     * clients.
     */
    public static ProxyFront overLasting(
            List<TcpProxy> proxies, String uri, BiFunction<String, LockRuntime, LockStore> opener) {
        return new ProxyFront(proxies, uri, opener, false);
    }

    @Override
    public LockStore open(LockRuntime runtime) {
        return opener.apply(uri, runtime);
    }

    @Override
    public String uriForOtherProcesses() {
        return uri;
    }

    @Override
    public void delayReplies(Duration delay) {
        proxies.forEach(proxy -> proxy.toClient().delay(delay));
    }

    @Override
    public void holdReplies() {
        proxies.forEach(proxy -> proxy.toClient().stall());
    }

    @Override
    public void holdRequests() {
        proxies.forEach(proxy -> proxy.toServer().stall());
    }

    @Override
    public void resume() {
        resume(Duration.ZERO);
    }

    private void resume(Duration thenDelay) {
        proxies.forEach(proxy -> {
            proxy.toClient().delay(thenDelay);
            proxy.resume();
        });
    }

    @Override
    public void breakWhatBeginsWithin(Duration span, Duration thenDelay) {
        holdReplies();
        long startAtNanos = System.nanoTime();
        for (long left = span.toNanos(); left > 0; left = span.toNanos() - (System.nanoTime() - startAtNanos)) {
            LockSupport.parkNanos(left);
        }
        proxies.forEach(TcpProxy::resetAll);
        resume(thenDelay);
    }

    @Override
    public long requests() {
        return proxies.stream()
                .mapToLong(proxy -> proxy.toServer().traffic().passed())
                .sum();
    }

    @Override
    public void close() {
        proxies.forEach(own ? TcpProxy::close : TcpProxy::heal);
    }

    @Override
    public String toString() {
        return "proxies " + proxies;
    }
}
