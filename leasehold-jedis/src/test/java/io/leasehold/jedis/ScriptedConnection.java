package io.leasehold.jedis;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.args.Rawable;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** A Jedis connection without a server: a test scripts the replies, and sees the requests. */
class ScriptedConnection extends Connection {

    /** Marks in {@link #written} that the buffer was flushed. */
    static final String WRITTEN_OUT = "|";

    private static final Object NULL = new Object();

    final BlockingQueue<String> written = new LinkedBlockingQueue<>();
    final AtomicInteger disconnects = new AtomicInteger();
    final CountDownLatch disconnected = new CountDownLatch(1);
    final List<Integer> timeouts = new ArrayList<>();
    private final BlockingQueue<Object> coming = new LinkedBlockingQueue<>();
    private int reads;

    ScriptedConnection() {
        super(new HostAndPort("server.test", 6379));
    }

    /** Adds a reply or a push; an exception is thrown. */
    void comes(Object item) {
        coming.add(item);
    }

    void comesNull() {
        coming.add(NULL);
    }

    /** The next request that was written, as text. */
    String next() throws InterruptedException {
        return String.valueOf(written.poll(60, TimeUnit.SECONDS));
    }

    /** Waits until this was written: an earlier reply would belong to no request. */
    void awaitWritten(String text) throws InterruptedException {
        while (!written.take().equals(text)) {}
    }

    /** Waits until the reading thread has asked for its n-th item: it has processed the earlier ones. */
    synchronized void awaitReadOf(int n) throws InterruptedException {
        while (reads < n) {
            wait();
        }
    }

    private synchronized void readBegins() {
        reads++;
        notifyAll();
    }

    @Override
    public void setSoTimeout(int millis) {
        timeouts.add(millis);
    }

    @Override
    public void sendCommand(CommandArguments command) {
        StringBuilder text = new StringBuilder();
        for (Rawable part : command) {
            text.append(text.isEmpty() ? "" : " ").append(new String(part.getRaw(), StandardCharsets.UTF_8));
        }
        written.add(text.toString());
    }

    @Override
    public List<Object> getMany(int count) {
        written.add(WRITTEN_OUT);
        return new ArrayList<>(count);
    }

    @Override
    public Object getUnflushedObject() {
        readBegins();
        try {
            Object item = coming.take();
            if (item instanceof RuntimeException thrown) {
                throw thrown;
            }
            return item == NULL ? null : item;
        } catch (InterruptedException e) {
            throw new JedisConnectionException(e);
        }
    }

    @Override
    public void forceDisconnect() {
        disconnects.incrementAndGet();
        disconnected.countDown();
        coming.add(new JedisConnectionException("the socket is closed"));
    }
}
