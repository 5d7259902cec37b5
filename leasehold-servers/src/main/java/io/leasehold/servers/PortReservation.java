package io.leasehold.servers;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketException;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/**
 * A TCP port set aside for one server for as long as this object is open, also while the server is down.
 *
 * <p>The mark that other launchers respect, in this JVM and in every other, is a bound <em>UDP</em> socket of the same
 * number: binding it is atomic, it does not disturb the TCP server, and the kernel removes it with the process. Programs
 * that do not know the mark can still take the TCP port, so starting a server on a port that was chosen here is retried
 * with another one when the bind fails.
 *
 * <p>Ports come from 10000–19999: below the ranges from which systems serve outgoing connections, and such that the
 * Cluster bus (port + 10000) never meets another server's port.
 */
public final class PortReservation implements AutoCloseable {
    static final int BUS_OFFSET = 10_000;
    private static final int LOWEST = 10_000;
    private static final int COUNT = 10_000;
    private static final int LAUNCH_TRIES = 50;
    // A mark that nothing refers to would be closed with its socket by the collector.
    private static final Queue<PortReservation> OF_THIS_JVM = new ConcurrentLinkedQueue<>();

    private final int port;
    private final DatagramSocket mark;

    private PortReservation(int port, DatagramSocket mark) {
        this.port = port;
        this.mark = mark;
    }

    /** Reserves any free port for as long as this JVM runs: for servers of other kinds, which are started again on their port. */
    public static int forThisJvm() {
        PortReservation reserved = any();
        OF_THIS_JVM.add(reserved);
        return reserved.port();
    }

    /** Reserves any free port. */
    static PortReservation any() {
        return any(port -> true);
    }

    /**
     * Reserves ports until one can be bound, since a program that ignores the mark may take one between probe and bind.
     *
     * @param launch starts the server and keeps the reservation, or returns empty if the port turned out to be taken
     */
    static <T> T launch(Function<PortReservation, Optional<T>> launch) {
        for (int i = 0; i < LAUNCH_TRIES; i++) {
            PortReservation reserved = any();
            try {
                Optional<T> launched = launch.apply(reserved);
                if (launched.isPresent()) {
                    return launched.get();
                }
            } catch (RuntimeException e) {
                reserved.close();
                throw e;
            }
            reserved.close();
        }
        throw new ServerException("no server could bind its port in " + LAUNCH_TRIES + " tries");
    }

    /** Reserves a free port among those the caller has not tried yet. */
    static PortReservation any(IntPredicate acceptable) {
        int start = ThreadLocalRandom.current().nextInt(COUNT);
        for (int i = 0; i < COUNT; i++) {
            int port = LOWEST + (start + i) % COUNT;
            if (!acceptable.test(port)) {
                continue;
            }
            DatagramSocket mark = mark(port);
            if (mark == null) {
                continue;
            }
            if (isFree(port) && isFree(port + BUS_OFFSET)) {
                return new PortReservation(port, mark);
            }
            mark.close();
        }
        throw new ServerException("no free TCP port between " + LOWEST + " and " + (LOWEST + COUNT - 1));
    }

    int port() {
        return port;
    }

    @Override
    public void close() {
        mark.close();
    }

    private static @Nullable DatagramSocket mark(int port) {
        try {
            return new DatagramSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        } catch (SocketException taken) {
            return null;
        }
    }

    private static boolean isFree(int port) {
        try (ServerSocket probe = new ServerSocket()) {
            probe.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            return true;
        } catch (IOException taken) {
            return false;
        }
    }
}
