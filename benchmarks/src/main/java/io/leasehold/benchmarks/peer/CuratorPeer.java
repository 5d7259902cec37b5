package io.leasehold.benchmarks.peer;

import java.net.URI;
import java.time.Duration;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Curator's {@code InterProcessMutex}; its session timeout corresponds to the ttl of the others. */
final class CuratorPeer implements Peer {

    private static final int FIRST_PAUSE_MILLIS = 100;
    private static final int RETRIES = 3;

    private final CuratorFramework curator;

    CuratorPeer(String uri, Duration ttl) {
        curator = CuratorFrameworkFactory.builder()
                .connectString(URI.create(uri).getAuthority())
                .sessionTimeoutMs(Math.toIntExact(ttl.toMillis()))
                .retryPolicy(new ExponentialBackoffRetry(FIRST_PAUSE_MILLIS, RETRIES))
                .build();
        curator.start();
    }

    @Override
    public Held acquire(String name) throws InterruptedException {
        InterProcessMutex mutex = new InterProcessMutex(curator, keyOf(name));
        try {
            mutex.acquire();
        } catch (InterruptedException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException("curator did not acquire " + name, e);
        }
        return () -> {
            try {
                mutex.release();
            } catch (Exception e) {
                throw new IllegalStateException("curator did not release " + name, e);
            }
        };
    }

    @Override
    public String keyOf(String name) {
        return "/curator/" + name;
    }

    @Override
    public void close() {
        curator.close();
    }
}
