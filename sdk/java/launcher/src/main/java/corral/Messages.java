package corral;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * Lets the buffers of a WebSocket grow with a message that an application takes as a whole. Tomcat gives each connection 8 KiB for
 * that and refuses what is longer; buffers of the largest size for all connections would cost megabytes each.
 *
 * <p>It stands before the step of Tomcat's frames that unmasks payloads. All that is named here has the same name at both levels, with
 * other types: hence the reflection.
 */
final class Messages implements InvocationHandler {
    /** As many bytes, or characters of a text, as a frame may have unless {@code max_frame_size} says otherwise. */
    private static final int LARGEST = 1 << 20;

    /** A session whose size is another one has that from the application, which is to be obeyed. */
    private static final int SIZE_OF_TOMCAT = 8192;

    private static final String HANDLER = "org.apache.tomcat.websocket.server.WsHttpUpgradeHandler";

    /** The fields of a class and of those that it extends: looking for them takes longer than a short frame. */
    private static final ClassValue<Map<String, Field>> FIELDS = new ClassValue<>() {
        @Override
        protected Map<String, Field> computeValue(Class<?> type) {
            Map<String, Field> fields = new HashMap<>(type.getSuperclass() == null ? Map.of() : computeValue(type.getSuperclass()));
            for (Field field : type.getDeclaredFields()) {
                field.setAccessible(true);
                fields.put(field.getName(), field);
            }
            return fields;
        }
    };

    private final Object handler;

    /** The former first step. */
    private Object next;

    private Messages(Object handler, Object next) {
        this.handler = handler;
        this.next = next;
    }

    /** Has the messages of a connection grow that is about to be one of WebSocket. */
    static void grow(Object handler) throws ReflectiveOperationException {
        if (!handler.getClass().getName().equals(HANDLER)) {
            return;
        }
        Field transformation = field(handler.getClass(), "transformation");
        Class<?> type = transformation.getType();
        Messages first = new Messages(handler, transformation.get(handler));
        transformation.set(handler, Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, first));
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        if (method.getName().equals("setNext") && next == null) {
            next = arguments[0];
            return null;
        }
        try {
            return method.getName().equals("getMoreData") ? moreData(method, arguments) : method.invoke(next, arguments);
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
        }
    }

    private Object moreData(Method method, Object[] arguments) throws ReflectiveOperationException {
        Object result = method.invoke(next, arguments);
        Frame frame = new Frame(field(handler.getClass(), "wsFrame").get(handler));
        if (arguments[3] != frame.get("messageBufferBinary")) {
            return result;
        }
        if (frame.isText()) {
            frame.makeRoomForText();
            return result;
        }
        while (result.toString().equals("OVERFLOW") && frame.growBytes()) {
            arguments[3] = frame.get("messageBufferBinary");
            result = method.invoke(next, arguments);
        }
        return result;
    }

    private static Field field(Class<?> type, String name) throws ReflectiveOperationException {
        Field field = FIELDS.get(type).get(name);
        if (field == null) {
            throw new NoSuchFieldException(type.getName() + "." + name);
        }
        return field;
    }

    /** The state of a connection between two reads. */
    private record Frame(Object frame) {
        Object get(String name) throws ReflectiveOperationException {
            return field(frame.getClass(), name).get(frame);
        }

        void set(String name, Object value) throws ReflectiveOperationException {
            field(frame.getClass(), name).set(frame, value);
        }

        boolean isText() throws ReflectiveOperationException {
            return (boolean) get("textMessage");
        }

        /** Whether the application takes a message piece by piece, and needs no buffer for all of it. */
        private boolean isPartial() throws ReflectiveOperationException {
            Field handler = field(frame.getClass(), isText() ? "textMsgHandler" : "binaryMsgHandler");
            Class<?>[] kinds = handler.getType().getDeclaredClasses();
            return Arrays.stream(kinds).anyMatch(kind -> kind.getSimpleName().equals("Partial") && kind.isInstance(value(handler)));
        }

        private Object value(Field field) {
            try {
                return field.get(frame);
            } catch (IllegalAccessException denied) {
                throw new IllegalStateException(denied);
            }
        }

        private boolean mayGrow(String size) throws ReflectiveOperationException {
            Object session = get("wsSession");
            return !isPartial() && (int) session.getClass().getMethod(size).invoke(session) == SIZE_OF_TOMCAT;
        }

        /** False if the message is as large as it may be. */
        boolean growBytes() throws ReflectiveOperationException {
            ByteBuffer old = (ByteBuffer) get("messageBufferBinary");
            if (old.capacity() >= LARGEST || !mayGrow("getMaxBinaryMessageBufferSize")) {
                return false;
            }
            set("messageBufferBinary", ByteBuffer.allocate(2 * old.capacity()).put(old.flip()));
            return true;
        }

        /** For what is decoded next: a byte is a character at most. */
        void makeRoomForText() throws ReflectiveOperationException {
            CharBuffer old = (CharBuffer) get("messageBufferText");
            int needed = old.position() + ((ByteBuffer) get("messageBufferBinary")).position();
            if (needed > old.capacity() && old.capacity() < LARGEST && mayGrow("getMaxTextMessageBufferSize")) {
                set("messageBufferText", CharBuffer.allocate(Math.min(LARGEST, Math.max(needed, 2 * old.capacity()))).put(old.flip()));
            }
        }
    }
}
