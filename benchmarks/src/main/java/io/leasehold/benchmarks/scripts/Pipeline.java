package io.leasehold.benchmarks.scripts;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A connection to a Redis server that sends commands together, without a driver. For one thread. */
final class Pipeline implements AutoCloseable {

    private final Socket socket;
    private final InputStream in;
    private final OutputStream out;
    private int unanswered;

    Pipeline(int port) throws IOException {
        socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setTcpNoDelay(true);
        in = new BufferedInputStream(socket.getInputStream(), 1 << 16);
        out = new BufferedOutputStream(socket.getOutputStream(), 1 << 18);
    }

    /** Queues a command, which is sent with the next {@link #answers}. */
    void add(List<String> words) throws IOException {
        StringBuilder text = new StringBuilder(32 * words.size());
        text.append('*').append(words.size()).append("\r\n");
        for (String word : words) {
            // The words are ASCII: as many bytes as characters.
            text.append('$').append(word.length()).append("\r\n").append(word).append("\r\n");
        }
        out.write(text.toString().getBytes(StandardCharsets.US_ASCII));
        unanswered++;
    }

    /** The replies to all queued commands, in order. */
    List<@Nullable Object> answers() throws IOException {
        out.flush();
        List<@Nullable Object> answers = new ArrayList<>(unanswered);
        for (; unanswered > 0; unanswered--) {
            answers.add(answer());
        }
        return answers;
    }

    /** Sends one command and returns its reply. */
    String call(String... words) throws IOException {
        add(List.of(words));
        return String.valueOf(answers().get(0));
    }

    private @Nullable Object answer() throws IOException {
        String line = line();
        String rest = line.substring(1);
        return switch (line.charAt(0)) {
            case '+', ':' -> rest;
            case '$' -> bulk(Integer.parseInt(rest));
            case '*', '>' -> items(Integer.parseInt(rest));
            case '%' -> items(2 * Integer.parseInt(rest));
            case '_' -> null;
            default -> throw new IOException(line);
        };
    }

    private List<@Nullable Object> items(int count) throws IOException {
        List<@Nullable Object> items = new ArrayList<>();
        for (int i = count; i > 0; i--) {
            items.add(answer());
        }
        return items;
    }

    /** Waits for a push of the server. */
    void push() throws IOException {
        answer();
    }

    private @Nullable String bulk(int length) throws IOException {
        if (length < 0) {
            return null;
        }
        String text = new String(in.readNBytes(length), StandardCharsets.UTF_8);
        in.skipNBytes(2);
        return text;
    }

    private String line() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int next = in.read(); next != '\r'; next = in.read()) {
            if (next < 0) {
                throw new EOFException("the server has closed the connection");
            }
            line.append((char) next);
        }
        in.skipNBytes(1);
        return line.toString();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
