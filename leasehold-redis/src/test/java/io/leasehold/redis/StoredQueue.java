package io.leasehold.redis;

import io.leasehold.redis.wire.KeyLayout;
import io.lettuce.core.Range;
import io.lettuce.core.Range.Boundary;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The front of the queue of a lock as a server keeps it, in one string.
 *
 * @param soonest the time before which no waiter in front counts as dead
 * @param latest the time from which all waiters in front count as dead
 * @param behind the time from which all waiters behind the front count as dead; 0 without such waiters
 */
public record StoredQueue(long soonest, long latest, long behind, List<Waiter> waiters) {

    /** One waiter of the queue. */
    public record Waiter(
            String owner,
            long arrival,
            long alive,
            String channel,
            long claim,
            int reserve,
            String holder,
            boolean reads) {

        /** Creates a waiter that is no reader. */
        public Waiter(String owner, long arrival, long alive, String channel, long claim, int reserve, String holder) {
            this(owner, arrival, alive, channel, claim, reserve, holder, false);
        }

        private static Waiter of(String line) {
            String[] words = line.split(" ", 7);
            return new Waiter(
                    words[0],
                    Long.parseLong(words[1]),
                    Long.parseLong(words[2]),
                    words[3],
                    Long.parseLong(words[4].replaceFirst("^r", "")),
                    Integer.parseInt(words[5]),
                    words[6],
                    words[4].startsWith("r"));
        }

        private String line() {
            return String.join(
                    " ",
                    owner,
                    Long.toString(arrival),
                    Long.toString(alive),
                    channel,
                    (reads ? "r" : "") + claim,
                    Integer.toString(reserve),
                    holder);
        }
    }

    /** Reads a server's answer; null or an empty text is a queue without waiters. */
    public static StoredQueue of(String text) {
        if (text == null || text.isEmpty()) {
            return new StoredQueue(Long.MAX_VALUE, 0, 0, List.of());
        }
        List<String> lines = text.lines().toList();
        String[] head = lines.get(0).split(" ", -1);
        if (head.length != 4 || !head[0].equals("2")) {
            throw new IllegalArgumentException("no queue of this version: " + text);
        }
        return new StoredQueue(
                Long.parseLong(head[1]),
                Long.parseLong(head[2]),
                Long.parseLong(head[3]),
                lines.stream().skip(1).map(Waiter::of).toList());
    }

    /** The waiters for the lock with this key in their order: in front and behind it. */
    public static List<String> everybody(RedisCommands<String, String> redis, String lock) {
        StoredQueue front = of(redis.get(KeyLayout.queued(lock)));
        List<String> owners = new ArrayList<>(front.owners());
        if (front.behind() > 0) {
            redis.zrangebyscore(KeyLayout.behind(lock), Range.from(Boundary.including(1), Boundary.unbounded()))
                    .forEach(member -> owners.add(member.substring(1)));
        }
        return owners;
    }

    /** The same queue with one more waiter at the end. */
    public StoredQueue and(Waiter waiter) {
        List<Waiter> all = new ArrayList<>(waiters);
        all.add(waiter);
        return new StoredQueue(Math.min(soonest, waiter.alive()), Math.max(latest, waiter.alive()), behind, all);
    }

    /** The owner tokens of its waiters, in their order. */
    public List<String> owners() {
        return waiters.stream().map(Waiter::owner).toList();
    }

    /** The form that a server stores. */
    @Override
    public String toString() {
        return "2 " + soonest + " " + latest + " " + behind
                + waiters.stream().map(waiter -> "\n" + waiter.line()).collect(Collectors.joining());
    }
}
